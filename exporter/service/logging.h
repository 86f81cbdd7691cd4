// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "igpu/log.h"

namespace igpu::exporter {

enum class LogFormat { logfmt, json };

// One line of the log, with its newline. ts is UTC with milliseconds. Control characters are escaped in both formats,
// so that a hostile name cannot forge a line.
std::string format_log_line(LogFormat format, std::string_view timestamp, LogLevel level, std::string_view message,
                            std::initializer_list<LogField> fields);

// Writes to standard error, each line in one write. What is below the level costs nothing.
//
// A start that fails shows why in one line and nothing else: while held, lines are kept back. From release() on a
// thread of its own writes, since a terminal that was stopped, a pipe that nobody reads or a disk that hangs must not
// stop those who serve: lines wait for it in their order, and those that find no room are dropped and counted. Standard
// error itself is left as it is, other processes write there, too.
class StderrLog final : public Log {
 public:
  StderrLog(LogLevel level, LogFormat format);
  ~StderrLog() override;  // see finish()
  StderrLog(const StderrLog&) = delete;
  StderrLog& operator=(const StderrLog&) = delete;

  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) override;

  void hold();
  void release();  // what was kept back comes first

  // Returns when all lines are written, or none could be for `patience`. Lines that come later are dropped.
  void finish(std::chrono::milliseconds patience = std::chrono::milliseconds(2000));

  // Lines that were not written: there was no room for them, or writing failed.
  std::uint64_t dropped() const;

 private:
  struct Queue;
  static void write_lines(const std::shared_ptr<Queue>& queue);

  const LogLevel level_;
  const LogFormat format_;
  const std::shared_ptr<Queue> queue_;  // the writer's, too, which may be stuck when the program ends
  std::thread writer_;
};

}  // namespace igpu::exporter
