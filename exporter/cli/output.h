// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace igpu::exporter {

// Writes to standard output at once. Returns the exit status: 0, or 1 if it could not be written.
int print(std::string_view text);

// Text from outside (process names, device names) without control characters, which a terminal would obey.
std::string terminal_safe(std::string_view text);

// text padded with blanks to so many characters (not bytes).
std::string padded(std::string_view text, std::size_t width);

}  // namespace igpu::exporter
