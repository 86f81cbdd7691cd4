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

// One log line with its newline. ts is UTC with milliseconds. Control characters are escaped in both formats, so that a
// hostile name cannot forge a line.
std::string format_log_line(LogFormat format, std::string_view timestamp, LogLevel level, std::string_view message,
                            std::initializer_list<LogField> fields);

// Writes to standard error, each line in one write. Lines below the level are dropped without cost.
//
// Between hold() and release() lines are kept, so that a failed start prints its reason and nothing else. From
// release() on a thread of its own writes: a stopped terminal, a full pipe or a hanging disk must not block the threads
// that serve. Lines are queued in order; when the queue is full they are dropped and counted. The flags of standard
// error are not changed, as other processes share it.
class StderrLog final : public Log {
 public:
  StderrLog(LogLevel level, LogFormat format);
  ~StderrLog() override;  // calls finish()

  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) override;

  void hold();
  void release();  // writes the kept lines first

  // Returns when all lines are written, or when none could be written for `timeout`. Later lines are dropped.
  void finish(std::chrono::milliseconds timeout = std::chrono::milliseconds(2000));

  // Lines that were not written: the queue was full, or writing failed.
  std::uint64_t dropped() const;

 private:
  struct Queue;
  static void write_lines(const std::shared_ptr<Queue>& queue);

  const LogLevel level_;
  const LogFormat format_;
  const std::shared_ptr<Queue> queue_;  // shared with the writer, which may be blocked when the program ends
  std::thread writer_;
};

}  // namespace igpu::exporter
