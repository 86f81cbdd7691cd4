// SPDX-License-Identifier: Apache-2.0
// Every tracked call as a record in a file, on request: compact (log_layout.h), or as the CSV of the validation layer's
// System Resource Tracker. Each process has files of its own, with _pidN before the suffix.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "tracker/log_layout.h"

namespace igpu::level_zero {

// Whether any process of this line of forks writes a log: asked at each call, so it must be cheap.
extern unsigned logging;  // NOLINT(bugprone-dynamic-static-initializers): a declaration

// In kB; zeros if it cannot be read. stack is part of data in /proc/self/statm, and not in /proc/self/status.
struct ProcessMemory {
  std::uint64_t size, resident, data, stack, peak, threads;
};

// Appends whole records, and stops when they no longer fit.
class AppendFile {
 public:
  bool open(const char* path);
  bool is_open() const { return fd_ >= 0; }
  void append(const void* record, std::uint64_t size);

 private:
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint64_t limit_ = 0;
};

class EventLog {
 public:
  void begin(const LogHeader& header);
  bool on() const { return compact_.is_open() || csv_.is_open(); }
  // Before and after a call; zeros unless a file has columns for it. statm is several times as cheap as status, but has
  // neither the peak nor the threads, which are only wanted after it.
  ProcessMemory memory_before() const;
  ProcessMemory memory_after() const;
  void append(const LogEvent& event, const ProcessMemory& before, const ProcessMemory& after);

 private:
  void append_line(const LogEvent& event, const LogMemory& memory);

  AppendFile compact_, csv_;
  bool with_memory_ = false;
  int status_ = -1;
  int statm_ = -1;
  std::uint64_t page_kb_ = 4;
  std::uint64_t lines_ = 0;
};

}  // namespace igpu::level_zero
