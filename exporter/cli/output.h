// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace igpu::exporter {

// Writes to standard output and flushes it. Returns the exit status: 0, or 1 if writing failed, after a line on
// standard error that says why.
int print(std::string_view text);

// How wide it is: the terminal's width, or that of COLUMNS, or 80.
int columns_of_output();

}  // namespace igpu::exporter
