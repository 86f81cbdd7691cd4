// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "igpu/device.h"
#include "igpu/units.h"

namespace igpu {

enum class GpuPower {
  awake,
  unused,     // still awake, but unused: a read would keep it from going to sleep
  suspended,  // or on its way there
};

// What a thread that reads a GPU between scrapes asks before it does. Any thread.
class GpuAccess {
 public:
  virtual ~GpuAccess() = default;
  // Reads the power status; only if the GPU is awake may the caller read it now. Scrapes and such threads share the
  // decision: each reading of either restarts the idle timer of the GPU.
  virtual GpuPower power(Nanoseconds now) = 0;
  // Whether the collectors have the PMU of the GPU open. An event of xe keeps the GPU out of its deepest sleep, so
  // others have such events open only meanwhile.
  virtual bool pmu_is_open() const = 0;
  // The GPU was removed or rebound: its files are to be closed, and nothing is to be read.
  virtual bool gone() const = 0;
};

// A GPU that is bound and chosen.
struct AccessibleGpu {
  Gpu gpu;
  std::shared_ptr<GpuAccess> access;
};

}  // namespace igpu
