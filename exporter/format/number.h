// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace igpu::exporter {

// Appends a finite number in its shortest form that reads back unchanged; integers have neither fraction nor exponent.
void append_number(std::string& out, double value);

// Appends the value as printf's %f does, with six decimals.
void append_fixed(std::string& out, double value);

}  // namespace igpu::exporter
