// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "machine/filesystem.h"

namespace igpu {

// The PMUs of this machine, a folder each.
inline constexpr std::string_view kPmuFolder = "bus/event_source/devices/";

// "i915", "i915_0000_03_00.0" or "xe_0000_00_02.0" for a GPU, as it exists in the tree: integrated i915 parts are
// `i915`, and so are kernels that do not name PMUs by device.
std::string gpu_pmu_name(const Directory& sys, std::string_view driver, std::string_view address, bool integrated);

// The PMU of a GPU counts for the whole machine; opened on two CPUs it would count twice.
bool counts_for_whole_machine(std::string_view pmu);

}  // namespace igpu
