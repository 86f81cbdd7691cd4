// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "cli/commands.h"
#include "cli/flags.h"

namespace igpu::exporter {

std::vector<Command> with_commands_of_system(std::vector<Command> commands) {
  constexpr std::array<std::string_view, 5> kNotHere{"top", "intel_gpu_top", "level-zero", "trace", "flights"};
  for (Command& command : commands) {
    command.hidden = command.hidden || std::find(kNotHere.begin(), kNotHere.end(), command.name) != kNotHere.end();
    if (command.name == "capture") {
      command.operands = "FILE.txt";
      command.missing = "capture needs the file to write: capture FILE.txt";
    }
  }
  const auto help =
      std::find_if(commands.begin(), commands.end(), [](const Command& one) { return one.name == "help"; });
  commands.insert(
      help,
      {.name = "service",
       .help = "service install installs a Windows service that starts at boot and runs as LocalService; "
               "flags of serve follow --. service remove uninstalls it. service allow adds a firewall "
               "rule that opens PORT (10068) to other machines; service forbid deletes it.",
       .operands = "ACTION [PORT] [-- FLAGS]",
       .least = 1,
       .most = ~std::size_t{0},
       .missing = "service install, remove, allow or forbid?",
       .run = service_command,
       .exits = {
           {"0", "Done."}, {"1", "Administrator rights are missing, or a step failed."}, {"2", "A flag is invalid."}}});
  return commands;
}

}  // namespace igpu::exporter
