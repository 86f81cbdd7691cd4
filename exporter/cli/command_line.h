// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/flags.h"
#include "cli/output.h"

namespace igpu::exporter {

struct CommandLine {
  const Command* command = nullptr;  // the default one if none is named
  const Command* action = nullptr;   // of a command that has some
  bool command_given = false;
  std::vector<std::string> operands;
  std::vector<std::string> program;  // another program with its arguments
  bool help = false, help_all = false;
  bool version = false;
  Settings settings;

  std::string path() const;  // "stats", "trace record"
  // An error in it, with the action's name and the command's status.
  UsageError with_place(const UsageError& error) const;
};

// Splits the arguments (without the program's name) into command, action, operands and flags, without checking values.
// Throws UsageError.
CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace igpu::exporter
