// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "igpu/device.h"
#include "igpu/reading.h"

namespace igpu {

enum class GpuPower {
  awake,
  unused,     // still awake, but unused: a read would keep it from going to sleep
  suspended,  // suspended or suspending
};

// The power status of a GPU. Reading it neither wakes the GPU nor restarts its idle timer.
struct PowerStatus {
  bool suspended = false;                   // or suspending, or the status cannot be read
  Reading<std::uint64_t> users = Absent{};  // RuntimePm::users()
};

// Whether a thread may read a GPU between scrapes. Any thread.
class GpuAccess {
 public:
  virtual ~GpuAccess() = default;
  // The caller decides what it may read: the decisions of the scrapes (SleepGuard) assume readings that are seconds
  // apart, and are not affected by this call.
  virtual PowerStatus power_status() = 0;
  // Whether the collectors have the PMU of the GPU open. An event of xe keeps the GPU out of its deepest sleep, so the
  // caller may have such events open only while this is true.
  virtual bool pmu_is_open() const = 0;
  // Why it was closed, at the scrape that created this object. Reason::suspended: the collectors open it when the GPU
  // is busy.
  virtual Absent pmu_closed_because() const = 0;
  // True after the GPU was removed or rebound: close its files and read nothing.
  virtual bool gone() const = 0;
};

// A GPU that is bound and chosen.
struct AccessibleGpu {
  Gpu gpu;
  std::shared_ptr<GpuAccess> access;
};

}  // namespace igpu
