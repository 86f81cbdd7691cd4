// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace igpu::exporter {

// Writes to standard output and flushes it. Returns the exit status: 0, or 1 if writing failed.
int print(std::string_view text);

// Untrusted text (names of processes and devices) with its control characters replaced, as a terminal would execute
// them.
std::string terminal_safe(std::string_view text);

// text padded with spaces to a width in characters, not bytes.
std::string padded(std::string_view text, std::size_t width);

}  // namespace igpu::exporter
