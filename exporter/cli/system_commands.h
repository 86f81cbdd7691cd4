// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/flags.h"

namespace igpu::exporter {

// The commands of all systems, and those of this one. Commands that it does not have are hidden; they say so when they
// are run.
std::vector<Command> with_commands_of_system(std::vector<Command> commands);

}  // namespace igpu::exporter
