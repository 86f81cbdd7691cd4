// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <cstdlib>
#include <exception>
#include <string>

#include "cli/command_line.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/start_failure.h"
#include "cli/usage_error.h"
#include "igpu/option.h"
#include "platform/standard_streams.h"
#include "sandbox/capabilities.h"
#include "self/build_info.h"
#include "service/watched_files.h"
#include "text/unicode.h"

namespace igpu::exporter {
namespace {

int dispatch(const std::vector<std::string>& arguments) {
  CommandLine line = parse_command_line(arguments);
  const Command& command = *line.command;
  const Command* topic = command.name != "help"  ? &command
                         : line.operands.empty() ? nullptr
                                                 : find_command(line.operands.front());
  const bool lacks_action = !command.actions.empty() && line.action == nullptr;
  if (line.help || lacks_action || command.name == "help")
    return print(line.command_given && topic ? help_text(*topic) : help_text());
  if (line.version || command.name == "version") return print(version_text());
  const auto with_origin = [&line](const auto& error) {
    const Setting* setting = line.settings.find(error.flag());
    return (setting ? setting->origin : "--" + error.flag()) + ": " + error.reason();
  };
  raise_capabilities();  // the file of the container image has them permitted only
  try {
    return command.run(options_from(line, [](const char* name) -> const char* { return std::getenv(name); }));
  } catch (const OptionError& error) {
    throw UsageError(with_origin(error), command.usage_status);
  } catch (const FlagFileError& error) {
    throw UsageError(with_origin(error));
  }
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  const auto report = [](const std::string& line) {
    (void)write_to_stderr(std::string(kProgramName) + ": " + clean_text(line) + '\n');
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
