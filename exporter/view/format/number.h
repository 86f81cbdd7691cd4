// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace igpu::exporter {

inline constexpr std::size_t kNumberSize = 32;

// Writes a finite number in its shortest form that reads back unchanged; integers of 64 bits have neither fraction nor
// exponent. At most kNumberSize characters; returns their end.
char* write_number(char* out, double value);

void append_number(std::string& out, double value);

// Appends the value as printf's %f does, with six decimals.
void append_fixed(std::string& out, double value);

}  // namespace igpu::exporter
