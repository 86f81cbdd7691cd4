// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "igpu/device.h"
#include "machine/gpu_adapters.h"

namespace igpu {

// The Intel GPUs among Windows' adapters, sorted by PCI address; the LUID is the binding. Software adapters, adapters
// of other vendors and adapters without a valid address are left out, and all but the first of those with the same
// address.
Reading<std::vector<Gpu>> adapter_gpus(GpuAdapters& adapters);

}  // namespace igpu
