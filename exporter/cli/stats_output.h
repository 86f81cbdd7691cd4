// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "service/signals.h"

namespace igpu::exporter {

// Standard output of a stream: notices that its reader has closed the pipe, also between two readings. A reader that
// has enough is no error.
class StatsOutput {
 public:
  enum class Outcome { goes_on, reader_gone, interrupted };

  // handles_signals: SIGINT and SIGTERM end the stream instead of the program. Constructed before other threads.
  explicit StatsOutput(bool handles_signals);

  // Throws std::system_error if writing failed otherwise, such as on a full disk.
  Outcome write(std::string_view text);
  Outcome wait_until(std::chrono::steady_clock::time_point time);

  bool to_file() const { return to_file_; }  // a regular file

 private:
  std::optional<TerminationSignals> signals_;
  bool to_file_ = false;
};

// One line on standard error about a stream that goes into a file: rewritten in place on a terminal, otherwise a new
// line every ten seconds.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text);
  void end();  // completes the line

 private:
  bool wanted_, on_terminal_;
  bool open_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace igpu::exporter
