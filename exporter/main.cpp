// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "igpu/options.h"
#include "platform/own_process.h"
#include "platform/regular_file.h"
#include "server/sandbox/privileges.h"
#include "text/text.h"
#include "view/intel_gpu_top/intel_gpu_top_arguments.h"
#ifdef IGPU_STATIC
#include "setup/static_file/documents.h"
#endif

namespace igpu::exporter {
namespace {

// Whether it reads this machine, for which a file may have capabilities; anything else needs the caller's rights only.
bool uses_rights_of_file(const CommandLine& line) {
  const std::string_view name = line.command->name;
  if (name == "top") return line.operands.empty();
  if (name == "trace") return line.action->name == "record";
  using Shared = Command::Shared;
  return line.command->shared == Shared::machine || line.command->shared == Shared::all || name == kIntelGpuTop;
}

// Null: the help of the whole command.
const Command* action_of(const CommandLine& line, const Command& topic) {
  if (line.command->name != "help") return line.action;
  if (line.operands.size() < 2) return nullptr;
  for (const Command& action : topic.actions)
    if (action.name == line.operands[1]) return &action;
  throw UsageError(std::string(topic.name) + " has no action " + line.operands[1] + " (see --help)");
}

int dispatch(const std::vector<std::string>& arguments) {
  if (is_set_id())
    throw UsageError(
        "refused: with the set-user-ID or set-group-ID bit its callers could read files that are not theirs; "
        "chmod ug-s " +
            program_file() + ", and see docs/permissions.md for what to grant instead",
        EXIT_FAILURE);
  std::optional<CallersRights> callers(std::in_place);
  CommandLine line = parse_command_line(arguments);
  const Command& command = *line.command;
  const Command* topic = command.name != "help"  ? &command
                         : line.operands.empty() ? nullptr
                                                 : find_command(line.operands.front());
  const bool lacks_action = !command.actions.empty() && line.action == nullptr;
  if (command.name == "help" && !line.operands.empty() && line.operands.front() == kCollectorsTopic)
    return print(collectors_help());
  if (line.help || lacks_action || command.name == "help")
    return print(line.command_given && topic ? help_text(*topic, line.help_all, action_of(line, *topic))
                                             : help_text(line.help_all));
  if (line.version || command.name == "version") return print(version_text());
  const auto with_origin = [&line](const OptionError& error) {
    const Setting* setting = line.settings.find(error.flag());
    return (setting ? setting->origin : "--" + error.flag()) + ": " + error.reason();
  };
  try {
    const Options options = options_from(line, [](const char* name) -> const char* { return std::getenv(name); });
    if (!has_rights_of_its_file() || uses_rights_of_file(line)) {
      callers.reset();
      raise_capabilities();  // the file of the container image has them permitted only
    }
    return command.run(options);
  } catch (const FlagFileError& error) {
    throw UsageError(with_origin(error), EXIT_FAILURE);
  } catch (const OptionError& error) {
    throw UsageError(with_origin(error));
  }
}

// Returns the exit status: 0, or 1 or 2 (UsageError) after one line on standard error.
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

}  // namespace
}  // namespace igpu::exporter

int main(int argc, char** argv) {
  igpu::exporter::prepare_standard_streams();
#ifdef IGPU_STATIC
  igpu::exporter::begin_static_program();
#endif
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (argc > 0) igpu::exporter::add_command_of_name(argv[0], arguments);
  return igpu::exporter::run(arguments);
}
