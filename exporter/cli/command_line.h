// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/flags.h"
#include "cli/settings.h"

namespace igpu::exporter {

struct CommandLine {
  std::string command;
  bool command_given = false;          // false: the default command
  std::string help_topic;              // of `help COMMAND`; "" for help on everything
  std::vector<std::string> arguments;  // of a command that has operands or reads its own
  bool help = false;
  bool version = false;
  Settings settings;
};

// Splits the arguments (without the program's name) into command and flags, without checking values. Throws UsageError.
CommandLine parse_command_line(const std::vector<std::string>& arguments, const std::vector<CommandFlag>& flags);

}  // namespace igpu::exporter
