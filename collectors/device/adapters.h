// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "igpu/device.h"
#include "machine/gpu_adapters.h"

namespace igpu {

// Intel's among Windows' adapters, sorted by PCI address; the LUID is the binding. Software adapters, those of other
// vendors and those without a valid address are left out, and of several adapters of one address all but the first.
Reading<std::vector<Gpu>> adapter_gpus(GpuAdapters& adapters);

}  // namespace igpu
