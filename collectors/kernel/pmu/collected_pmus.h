// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/filesystem.h"

// The PMUs that collectors read, of all that a kernel has: those of GPUs, of RAPL and of memory controllers. Never a
// PMU of probes, tracepoints, breakpoints or software events: these read or change what belongs to other processes.
namespace igpu {

bool is_collected_pmu(std::string_view name);

// Whether a PMU that collectors read has this number now. The kernel assigns numbers when a driver is bound, so they
// are read from sysfs at each call.
bool is_type_of_collected_pmu(const Directory& sys, std::uint32_t type);

}  // namespace igpu
