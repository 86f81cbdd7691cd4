// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/metrics_reference.h"
#include "cli/output.h"
#include "cli/start_failure.h"
#include "cli/usage_error.h"
#include "igpu/option.h"
#include "self/build_info.h"
#include "service/watched_files.h"

namespace igpu::exporter {
namespace {

int execute(const CommandLine& line, const Options& options) {
  const std::string& command = line.command;
  if (command == "list") return list(options);
  if (command == "stats") return stats(options);
  if (command == "top") return top_command(options, line.arguments);
  if (command == "doctor") return doctor(options);
  if (command == "level-zero") return level_zero(options, line.arguments);
  if (command == "trace") return trace(options, line.arguments);
  if (command == "capture") return capture(options, line.arguments);
  if (command == "healthcheck") return healthcheck(options);
  return serve(options);
}

Options checked_options(Settings& settings, const std::vector<CommandFlag>& flags, int usage_status) {
  try {
    add_environment(settings, flags, [](const char* name) -> const char* { return std::getenv(name); });
    if (const Settings::Setting* config = settings.find("config")) {
      add_config_file(settings, flags, *config);
    }
    return options_from(settings);
  } catch (const UsageError& error) {
    throw UsageError(error.what(), usage_status);
  }
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

  const int usage_status = find_command(line.command)->usage_status;
  const auto with_origin = [&line](const auto& error) {
    const Settings::Setting* setting = line.settings.find(error.flag());
    return (setting ? setting->origin : "--" + error.flag()) + ": " + error.reason();
  };
  try {
    return execute(line, checked_options(line.settings, flags, usage_status));
  } catch (const OptionError& error) {
    throw UsageError(with_origin(error), usage_status);
  } catch (const FlagFileError& error) {
    throw UsageError(with_origin(error));
  }
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  const auto report = [](const std::string& line) {
    std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(kProgramName.size()), kProgramName.data(), line.c_str());
  };
  try {
    return dispatch(arguments);
  } catch (const UsageError& error) {
    report(error.what());
    return error.status();
  } catch (const std::exception& error) {
    report(explained(error, process_limits()));
    return EXIT_FAILURE;
  }
}

}  // namespace igpu::exporter
