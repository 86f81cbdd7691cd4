// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "igpu/log.h"

namespace igpu::test {

// Keeps what was logged, as "message key=value ...".
class RecordingLog final : public Log {
 public:
  struct Line {
    LogLevel level;
    std::string text;
  };
  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) override {
    std::string text(message);
    for (const LogField& field : fields) text += " " + std::string(field.key) + "=" + std::string(field.value);
    const std::lock_guard lock(mutex_);
    lines_.push_back({level, std::move(text)});
  }
  std::vector<Line> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  int count(LogLevel level) const {
    int n = 0;
    for (const Line& line : lines()) n += line.level == level;
    return n;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Line> lines_;
};

}  // namespace igpu::test
