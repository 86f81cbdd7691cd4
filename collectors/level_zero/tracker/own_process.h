// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "level_zero/tracker/api_table.h"
#include "level_zero/tracker/live_table.h"
#include "level_zero/tracker/log_layout.h"
#include "level_zero/tracker/page_layout.h"

namespace igpu::level_zero {

// Where a tracked call came from: its return address and where on the stack that lies.
struct Caller {
  std::uintptr_t address;
  std::uintptr_t stack_slot;
};

// Finds where the loader and its layers are mapped. Called whenever a loader requests a table.
void find_loader();

// Finds the place in the program that made a call: the first caller outside the Level Zero loader, which is usually the
// immediate caller.
class CallSites {
 public:
  void begin(Header& header, std::uint32_t frames_per_site, Module* modules, unsigned char* sites);
  // The number of the caller's site in the page; kNoSite if the page has no room for another site.
  std::uint32_t of(const Caller& caller);

 private:
  std::uint32_t intern(const std::uint64_t* frames, std::uint32_t depth);
  SiteHeader& site(std::uint32_t number);
  void note_module(std::uint64_t address);

  Header* header_;
  Module* modules_;
  unsigned char* sites_;
  // Bounds are kept here and never read back from the page, because other code of the program may write to it.
  std::uint32_t depth_;
  std::uint32_t module_count_;
  unsigned lock_;
};

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

// On request, writes a record of every tracked call to a file: compact (log_layout.h), or the CSV of the validation
// layer's System Resource Tracker. Each process has files of its own, with _pidN before the suffix.
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

struct Created {
  Kind kind;
  std::uint16_t function;
  std::uint64_t handle;
  std::uint64_t bytes;
  std::uint64_t parent;
};

// The tracker's state for one process: its page and private tables. A forked child gets its own state at its first
// tracked call.
class OwnProcess {
 public:
  // The state of this process. Null if there is not even private memory.
  static OwnProcess* current();

  void count_call(std::uint32_t function, bool failed);
  void count_failed_create(Kind kind);
  void created(const Created& resource, const Caller& caller);
  std::uint32_t take(std::uint64_t handle, std::uint64_t kinds) { return live_.take(handle, kinds); }
  // entry: the result of take(), which must be called before the driver destroys the resource.
  void destroyed(std::uint32_t entry);
  void not_destroyed(std::uint32_t entry) { live_.put_back(entry); }
  // Called before and after a tracked call while `logging` is set.
  ProcessMemory memory_before() const { return log_.memory_before(); }
  void log_call(std::uint32_t function, std::uint32_t result, std::uint64_t handle, const ProcessMemory& before);
  // Called when exit handlers run: what is live now leaks unless a later handler destroys it. Calls still count.
  static void ending();

 private:
  static OwnProcess* begin();
  void begin_log();
  void describe(std::uint32_t frames_per_site);
  KindCounters& counters(std::uint8_t kind) { return kinds_[kind]; }

  PageFile file_;
  LiveTable live_;
  CallSites sites_;
  EventLog log_;
  Header* header_;
  KindCounters* kinds_;
  CallCounters* calls_;
  std::uint32_t generation_;
};

}  // namespace igpu::level_zero
