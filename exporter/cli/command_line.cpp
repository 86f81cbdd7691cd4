// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/usage_error.h"

// The only file that includes CLI11: it costs seconds and hundreds of megabytes to compile.
namespace igpu::exporter {
namespace {

CLI::Option* add(CLI::App& app, const CommandFlag& flag) {
  if (flag.placeholder.empty()) {
    const std::string names = "--" + flag.name + (flag.negatable ? ",!--no-" + flag.name : "");
    return app.add_flag(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  // One value each time: the next argument may be the command.
  CLI::Option* option = app.add_option("--" + flag.name)->type_size(1)->expected(1);
  if (flag.repeatable)
    option->expected(1, 1000)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return option;
}

// CLI11's own sentences speak of what its parser expected, not of what was written.
std::string explained(const CLI::ParseError& error) {
  std::string text = error.what();
  const std::size_t colon = text.find(": ");
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && colon != std::string::npos) {
    const std::string argument = text.substr(colon + 2, text.find(' ', colon + 2) - colon - 2);
    return (argument.starts_with('-') ? "unknown flag " : "unknown command ") + argument + " (see --help)";
  }
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch) && colon != std::string::npos) {
    const bool missing = text.find("missing") != std::string::npos;
    return text.substr(0, colon) + (missing ? ": a value is missing" : ": given more than once");
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// What CLI11 makes of --NAME, --no-NAME and --NAME=VALUE.
std::string switch_state(const CommandFlag& flag, const std::string& value) {
  if (value == "true" || value == "1") return "true";
  if (value == "false" || value == "0" || value == "-1") return "false";
  throw UsageError("--" + flag.name + ": \"" + value + "\" is neither true nor false");
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments, const std::vector<CommandFlag>& flags) {
  CLI::App app;
  app.set_help_flag();
  CLI::Option* const help = app.add_flag("-h,--help");
  CLI::Option* const version = app.add_flag("--version");
  app.require_subcommand(0, 1);
  std::vector<std::pair<const CommandFlag*, CLI::Option*>> options;
  for (const CommandFlag& flag : flags) {
    if (flag.command.empty()) options.emplace_back(&flag, add(app, flag));
  }
  for (const Command& command : all_commands()) {
    CLI::App* const sub = app.add_subcommand(std::string(command.name));
    sub->set_help_flag();
    sub->fallthrough();  // the other flags may stand behind the command, too
    for (const CommandFlag& flag : flags) {
      if (flag.command == command.name) options.emplace_back(&flag, add(*sub, flag));
    }
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    throw UsageError(explained(error));
  }

  CommandLine result;
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  result.command = chosen.empty() ? std::string(all_commands().front().name) : chosen.front()->get_name();
  result.help = help->count() > 0;
  result.version = version->count() > 0;
  for (const auto& [flag, option] : options) {
    if (option->count() == 0) continue;
    std::vector<std::string> values = option->results();
    // Switches: the last one counts.
    if (flag->placeholder.empty()) values = {switch_state(*flag, values.back())};
    result.settings.set(flag->name, {std::move(values), "--" + flag->name});
  }
  return result;
}

}  // namespace igpu::exporter
