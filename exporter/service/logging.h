// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "igpu/log.h"

namespace igpu::exporter {

enum class LogFormat { logfmt, json };

// One line of the log, with its newline. ts is UTC with milliseconds. Control characters are escaped in both formats,
// so that a hostile name cannot forge a line.
std::string format_log_line(LogFormat format, std::string_view timestamp, LogLevel level, std::string_view message,
                            std::initializer_list<LogField> fields);

// Writes to standard error, each line in one write. What is below the level costs nothing.
//
// While held, lines are kept back: a start that fails shows why in one line and nothing else.
class StderrLog final : public Log {
 public:
  StderrLog(LogLevel level, LogFormat format) : level_(level), format_(format) {}
  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) override;

  void hold();
  void release();

 private:
  LogLevel level_;
  LogFormat format_;
  std::mutex mutex_;
  bool held_ = false;
  std::string kept_;
};

}  // namespace igpu::exporter
