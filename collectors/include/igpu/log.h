// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string_view>

// Sink for library diagnostics. The program chooses the format (logfmt, json) and the destination.
namespace igpu {

enum class LogLevel { debug, info, warn, error };

struct LogField {
  std::string_view key;
  std::string_view value;
};

class Log {
 public:
  virtual ~Log() = default;
  // Any thread. message is a constant sentence; variable parts are fields (device, path, error, hint).
  virtual void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) = 0;
};

}  // namespace igpu
