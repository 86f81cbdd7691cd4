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
  suspended,  // or on its way there
};

// The power status of a GPU. To look at it neither wakes the GPU nor restarts its idle timer.
struct PowerLook {
  bool suspended = false;                   // or on its way there, or nobody knows
  Reading<std::uint64_t> users = Absent{};  // RuntimePm::users()
};

// What a thread that reads a GPU between scrapes asks before it does. Any thread.
class GpuAccess {
 public:
  virtual ~GpuAccess() = default;
  // Such a thread judges by itself what it may read: the judgement of the scrapes (SleepGuard) assumes readings that
  // are seconds apart, and does not hear of these looks.
  virtual PowerLook look() = 0;
  // Whether the collectors have the PMU of the GPU open. An event of xe keeps the GPU out of its deepest sleep, so
  // others have such events open only meanwhile.
  virtual bool pmu_is_open() const = 0;
  // Why not, at the scrape that gave this access. suspended: they open it when they see work.
  virtual Absent pmu_closed_because() const = 0;
  // The GPU was removed or rebound: its files are to be closed, and nothing is to be read.
  virtual bool gone() const = 0;
};

// A GPU that is bound and chosen.
struct AccessibleGpu {
  Gpu gpu;
  std::shared_ptr<GpuAccess> access;
};

}  // namespace igpu
