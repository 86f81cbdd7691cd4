// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace igpu::exporter {

// Runs the program; returns its exit status: 0, or 1 or 2 (UsageError) after one line on standard error.
int run(const std::vector<std::string>& arguments);

}  // namespace igpu::exporter
