// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "collector/collector.h"
#include "igpu/reading.h"
#include "igpu/units.h"

namespace igpu {

// Decides at each scrape whether a GPU may be read.
//
// A suspended one may not: most reads resume it. One that has been unused for a while, but is still awake, is left
// alone, too: a read restarts its idle timer (i915: 10 s, xe: 1 s), so that scrapes which come faster than that would
// keep it awake forever. If something else keeps it awake, it is read again when that time is over.
class SleepGuard {
 public:
  struct Observation {
    Reading<bool> suspended;       // RuntimePm
    Reading<std::uint64_t> users;  // of the device's power, ourselves excluded; Absent: the kernel does not report it
    Nanoseconds autosuspend_delay{};  // 0: it has none
  };

  GpuPower judge(const Observation& seen, Nanoseconds now);

 private:
  bool was_suspended_ = false;  // used while the status cannot be read
  std::optional<Nanoseconds> unused_since_;
  bool stays_awake_ = false;  // although it is unused and was not read
  Nanoseconds last_read_{};
};

}  // namespace igpu
