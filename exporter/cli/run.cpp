// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/metrics_reference.h"
#include "cli/output.h"
#include "cli/start_failure.h"
#include "cli/usage_error.h"
#include "igpu/option.h"
#include "self/build_info.h"

namespace igpu::exporter {
namespace {

int execute(std::string_view command, const Options& options) {
  if (command == "list") return list(options);
  if (command == "stats") return stats(options);
  if (command == "doctor") return doctor(options);
  if (command == "healthcheck") return healthcheck(options);
  return serve(options);
}

int dispatch(const std::vector<std::string>& arguments) {
  const std::vector<CommandFlag> flags = all_flags();
  CommandLine line = parse_command_line(arguments, flags);
  const std::string topic = line.command == "help"            ? line.help_topic
                            : line.command_given && line.help ? line.command
                                                              : "";
  if (const Command* command = find_command(topic)) return print(help_text(flags, *command));
  if (line.help || line.command == "help") return print(help_text(flags));
  if (line.version || line.command == "version") return print(version_text());
  if (line.command == "metrics-reference") return print(metrics_reference());

  add_environment(line.settings, flags, [](const char* name) -> const char* { return std::getenv(name); });
  if (const Settings::Setting* config = line.settings.find("config")) {
    add_config_file(line.settings, flags, config->values.back());
  }
  try {
    return execute(line.command, options_from(line.settings));
  } catch (const OptionError& error) {
    const Settings::Setting* setting = line.settings.find(error.flag());
    throw UsageError((setting ? setting->origin : "--" + error.flag()) + ": " + error.reason());
  }
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  try {
    return dispatch(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(kProgramName.size()), kProgramName.data(),
                 explained(error, process_limits()).c_str());
    return EXIT_FAILURE;
  }
}

}  // namespace igpu::exporter
