// SPDX-License-Identifier: Apache-2.0
// The tracker's state for one process: its page and private tables. A forked child gets its own state at its first
// tracked call.
#pragma once

#include <cstdint>

#include "level_zero/tracker/api_table.h"
#include "level_zero/tracker/call_site.h"
#include "level_zero/tracker/event_log.h"
#include "level_zero/tracker/live_table.h"
#include "level_zero/tracker/page_file.h"
#include "level_zero/tracker/page_layout.h"

namespace igpu::level_zero {

struct Created {
  Kind kind;
  std::uint16_t function;
  std::uint64_t handle;
  std::uint64_t bytes;
  std::uint64_t parent;
};

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
