// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "capture/masks.h"

// Texts of the kernel for a bug report, without the names of processes and what else is private in them. Pure.
namespace igpu {

// Whether a record of the kernel log is about a GPU: of i915, xe or DRM.
bool is_about_graphics(std::string_view text);

// Whether a record that names a GPU's address may be one about its hardware. Audit records and those of file systems
// name such addresses in paths, beside programs and users.
bool is_about_device(std::string_view text);

// Whether a record is of a form that a warning or an oops has. Others come in between.
bool is_of_warning(std::string_view text);

// The text of a record of the kernel log, or a line of a core dump or an error state. Where a line of unknown form
// could name a process, that part of it is left out.
std::string masked_log_text(std::string_view text, capture::Masks& masks);

// A core dump of xe or an error state of i915: the lines that name processes are masked, all others stay.
std::string masked_dump(std::string_view text, capture::Masks& masks);

// /proc/cmdline: the parameters that concern graphics, PCI and power keep their values, others their names only.
std::string masked_command_line(std::string_view text);

}  // namespace igpu
