// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace igpu::exporter {

// One flag, as --help shows it and as the command line, the environment and the configuration file accept it.
struct CommandFlag {
  std::string name;           // without dashes: "web.listen-address"
  std::string placeholder;    // "ADDRESS"; "" for a switch
  std::string default_value;  // as it would be written; "" if there is none to show
  std::string help;
  bool repeatable = false;
  bool negatable = false;                       // a switch that --no-NAME turns off
  std::vector<std::string_view> commands = {};  // the only commands that accept it; empty: all
};

struct ExitStatus {
  std::string_view status, meaning;
};

struct Command {
  std::string_view name, help;
  std::string_view operands = {};  // what follows its name, as in its usage: "[URL...]"; "" for nothing
  bool hidden = false;
  int usage_status = 1;        // exit status for invalid arguments
  bool own_arguments = false;  // what follows its name is read by the command itself
  std::vector<ExitStatus> exits = {};
  std::string_view actions = {};  // with own_arguments: their description, ready to print
};

// All flags, those of the collectors generated from the library's descriptions.
std::vector<CommandFlag> all_flags();
const std::vector<Command>& all_commands();          // the first one is the default
const Command* find_command(std::string_view name);  // null: unknown command

std::string environment_name(const CommandFlag& flag);  // INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS
std::string help_text(const std::vector<CommandFlag>& flags);
// Help of one command: its purpose and its flags.
std::string help_text(const std::vector<CommandFlag>& flags, const Command& command);

}  // namespace igpu::exporter
