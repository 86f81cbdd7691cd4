// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

#include "igpu/reading.h"
#include "machine/machine.h"

namespace igpu {

// A clock that also shows CLOCK_BOOTTIME: the clock of the start times in /proc/<pid>/stat. The kernel shows both in
// the reader's time namespace (fs/proc/array.c, do_task_stat; since Linux 5.5). /proc/uptime may be another clock:
// lxcfs writes the age of a container into it.
class BootClock {
 public:
  virtual ~BootClock() = default;
  virtual Reading<Nanoseconds> boot_now() const = 0;
};

inline constexpr Nanoseconds kStartTimeTick = std::chrono::milliseconds(10);  // USER_HZ: the unit of start times

// Absent: the machine is not a real one and has no such clock.
inline Reading<Nanoseconds> boot_now(const Clock& clock) {
  const auto* const boot = dynamic_cast<const BootClock*>(&clock);
  return boot ? boot->boot_now() : Absent{Reason::kernel, ENODATA};
}

}  // namespace igpu
