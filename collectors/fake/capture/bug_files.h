// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

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

// Masks texts of the kernel for a bug report: the names of processes and other private data. Pure functions.

// Whether a record of the kernel log is about a GPU: of i915, xe or DRM.
bool is_about_graphics(std::string_view text);

// Whether a record that names a GPU's address may be one about its hardware. Audit records and those of file systems
// name such addresses in paths, beside programs and users.
bool is_about_device(std::string_view text);

// Whether a record looks like a line of a warning or an oops. Lines of other origin may stand between such lines.
bool is_of_warning(std::string_view text);

// The text of a record of the kernel log, or a line of a core dump or an error state. Where a line of unknown form
// could name a process, that part of it is left out.
std::string masked_log_text(std::string_view text, capture::Masks& masks);

// A core dump of xe or an error state of i915: the lines that name processes are masked, all others stay.
std::string masked_dump(std::string_view text, capture::Masks& masks);

// /proc/cmdline: parameters that concern graphics, PCI and power keep their values; of all others only the names are
// kept.
std::string masked_command_line(std::string_view text);

}  // namespace igpu
