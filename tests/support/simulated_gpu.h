// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "igpu/gpu.h"

namespace igpu::test {

// The GPU of a simulated machine, which may be read every millisecond.
inline OpenGpu simulated() {
  GpuOptions options;
  options.simulate = "tgl-broadcast";
  options.min_window = std::chrono::milliseconds(1);
  return Gpu::detect(options);
}

}  // namespace igpu::test
