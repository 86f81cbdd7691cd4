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
// A suspended GPU is not read: most reads would resume it. A GPU that is awake but has been unused for a while is not
// read either: each read restarts its idle timer (i915: 10 s, xe: 1 s), so scrapes at shorter intervals would keep it
// awake forever. If something else keeps it awake, it is read again after that time.
class SleepGuard {
 public:
  struct Observation {
    Reading<bool> suspended;          // RuntimePm
    Reading<std::uint64_t> users;     // of the device's power, without this process. Absent: the kernel reports none
    Nanoseconds autosuspend_delay{};  // 0: the device has none
  };

  GpuPower judge(const Observation& seen, Nanoseconds now);

 private:
  bool was_suspended_ = false;  // the last known status, used while the status cannot be read
  std::optional<Nanoseconds> unused_since_;
  bool stays_awake_ = false;  // it stayed awake although it was neither used nor read
  Nanoseconds last_read_{};
};

}  // namespace igpu
