// SPDX-License-Identifier: Apache-2.0
#include "cli/flags.h"

namespace igpu::exporter {

std::vector<Command> with_commands_of_system(std::vector<Command> commands) { return commands; }

}  // namespace igpu::exporter
