// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "fake/capture/masks.h"
#include "igpu/capture.h"
#include "machine/machine.h"

namespace igpu {

// Adds to a capture, below bug/, what the maintainers of i915 and xe ask for: the drivers' lines of the kernel log,
// error states and core dumps (their start, if they are large), the kernel's version and command line, the drivers'
// parameters, firmware, and the PCI devices up to the root. Reads only, resumes no GPU, and says in left_out what could
// not be read.
void add_bug_files(Machine& machine, std::span<const Gpu> gpus, capture::Masks& masks, CaptureOutcome& outcome);

// Bytes of one dump. Readers of captures accept files of up to 16 MiB.
inline constexpr std::size_t kMostOfDump = std::size_t{15} << 20;
inline constexpr std::size_t kMostOfDumps = std::size_t{45} << 20;  // of all dumps together
inline constexpr std::size_t kMostOfLog = std::size_t{4} << 20;     // the newest lines

}  // namespace igpu
