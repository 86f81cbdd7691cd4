// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "level_zero/arguments.h"

namespace igpu::exporter {

// Throws UsageError.
LevelZeroArguments parse_level_zero_arguments(const std::vector<std::string>& arguments);
std::string level_zero_help();
std::string_view level_zero_actions();  // the part of it that describes actions and their flags

}  // namespace igpu::exporter
