// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "igpu/gpu.h"
#include "run/machine_parts.h"

namespace igpu {

using MakeParts = std::function<std::shared_ptr<MachineParts>()>;

// The collectors that run unless the options leave them out; without those that are always on.
std::span<const std::string_view> snapshot_collectors();
bool is_always_on(std::string_view collector);

// As Gpu::open() and Gpu::detect() (name ""), on any machine; roots and simulate of the options are ignored.
OpenGpu open_gpu(const MakeParts& make_parts, std::string_view name, const GpuOptions& options);

}  // namespace igpu
