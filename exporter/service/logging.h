// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "igpu/log.h"

namespace igpu::exporter {

enum class LogFormat { logfmt, json };

// One line of the log, with its newline. ts is UTC with milliseconds. Control characters are escaped in both formats,
// so that a hostile name cannot forge a line.
std::string format_log_line(LogFormat format, std::string_view timestamp, LogLevel level, std::string_view message,
                            std::initializer_list<LogField> fields);

// Writes to standard error, each line in one write. What is below the level costs nothing.
class StderrLog final : public Log {
 public:
  StderrLog(LogLevel level, LogFormat format) : level_(level), format_(format) {}
  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) override;

 private:
  LogLevel level_;
  LogFormat format_;
};

}  // namespace igpu::exporter
