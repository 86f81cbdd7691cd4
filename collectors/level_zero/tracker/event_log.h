// SPDX-License-Identifier: Apache-2.0
// On request, writes a record of every tracked call to a file: compact (log_layout.h), or the CSV of the validation
// layer's System Resource Tracker. Each process has files of its own, with _pidN before the suffix.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "level_zero/tracker/log_layout.h"

namespace igpu::level_zero {

// Whether any process of this line of forks writes a log. Read at each tracked call, so it is a plain variable.
extern unsigned logging;  // NOLINT(bugprone-dynamic-static-initializers): a declaration

// In kB; zeros if they cannot be read. /proc/self/statm counts the stack as data, /proc/self/status does not.
struct ProcessMemory {
  std::uint64_t size, resident, data, stack, peak, threads;
};

// Appends whole records. A record is dropped if the file would exceed the process's limit of file sizes, or is no
// longer the one that was opened.
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
  // Memory before and after a call; zeros unless a log has columns for it. memory_before() reads statm, which costs a
  // fraction of status but lacks the peak and the threads; these are only needed after the call.
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
