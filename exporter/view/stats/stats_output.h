// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "platform/thread.h"

namespace igpu::exporter {

// Output of a stream, mostly standard output: notices that its reader has closed the pipe, also between two readings. A
// reader that has enough is no error. Or a file, which each reading replaces as a whole.
class StatsOutput {
 public:
  enum class Outcome { goes_on, reader_gone, interrupted };

  // handles_signals: SIGINT and SIGTERM end the stream instead of the program. Constructed before other threads.
  // file: "" for standard output.
  explicit StatsOutput(bool handles_signals, std::string file = {});

  // Of a program that stands for another one: SIGTERM ends it.
  struct Manner {
    int descriptor;                          // where it writes
    std::chrono::milliseconds longest_wait;  // of write(), for a reader that does not read; SIGINT ends it
  };
  explicit StatsOutput(const Manner& manner);

  // Throws std::system_error if writing failed otherwise, such as on a full disk.
  Outcome write(std::string_view text);
  Outcome wait_until(std::chrono::steady_clock::time_point time);

  bool to_file() const { return to_file_; }  // standard output is a regular file

 private:
  std::optional<Outcome> wait_for_reader();  // nullopt: what is not more than PIPE_BUF can be written at once

  Outcome write_stream(std::string_view text);
  mode_t mode_of_file() const;

  int descriptor_;
  std::optional<TerminationSignals> signals_;
  std::string file_;
  std::optional<std::chrono::milliseconds> longest_wait_;
  mode_t new_mode_ = 0600;
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
