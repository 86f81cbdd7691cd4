// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <sstream>

#include "cli/usage_error.h"
#include "text/nearest.h"

// The only file that includes CLI11, which takes seconds and hundreds of megabytes to compile.
namespace igpu::exporter {
namespace {

CLI::Option* add(CLI::App& app, const CommandFlag& flag) {
  if (flag.placeholder.empty()) {
    const std::string names = "--" + flag.name + (flag.negatable ? ",!--no-" + flag.name : "");
    return app.add_flag(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  // One value per use: the next argument may be the command.
  CLI::Option* option = app.add_option("--" + flag.name)->type_size(1)->expected(1);
  if (flag.repeatable)
    option->expected(1, 1000)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return option;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string meant = nearest(word, candidates);
  return meant.empty() ? " (see --help)" : "; did you mean " + meant + "?";
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) {
    if (!command.hidden) names.emplace_back(command.name);
  }
  return names;
}

// Null: all flags.
std::vector<std::string> flag_names_of(const Command* command, const std::vector<CommandFlag>& flags) {
  std::vector<std::string> names{"--help", "--version"};
  for (const CommandFlag& flag : flags) {
    const auto& commands = flag.commands;
    if (command && !commands.empty() && std::find(commands.begin(), commands.end(), command->name) == commands.end())
      continue;
    names.push_back("--" + flag.name);
    if (flag.negatable) names.push_back("--no-" + flag.name);
  }
  return names;
}

std::string unknown_command(const std::string& word) {
  return "unknown command " + word + suggestion(word, command_names());
}

// A flag of another command is reported as such, not as unknown.
std::string unknown_flag(const std::string& argument, const Command* command, const std::vector<CommandFlag>& flags) {
  const std::string word = argument.substr(0, argument.find('='));
  for (const CommandFlag& flag : flags) {
    if ("--" + flag.name != word || flag.commands.empty()) continue;
    std::string commands;
    for (const std::string_view name : flag.commands) commands += (commands.empty() ? "" : ", ") + std::string(name);
    return word + " is a flag of " + commands;
  }
  return "unknown flag " + word + suggestion(word, flag_names_of(command, flags));
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// CLI11's messages describe what its parser expected, not the argument that is wrong.
std::string explained(const CLI::ParseError& error, const std::vector<CommandFlag>& flags, const Command* command) {
  std::string text = error.what();
  const std::size_t colon = text.find(": ");
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && colon != std::string::npos) {
    const std::vector<std::string> extras = words(text.substr(colon + 2));
    // The argument after an unknown flag is usually its value.
    const auto flag =
        std::find_if(extras.begin(), extras.end(), [](const std::string& word) { return word.starts_with('-'); });
    if (flag != extras.end()) return unknown_flag(*flag, command, flags);
    const std::string argument = extras.empty() ? "" : extras.front();
    return command ? "unexpected argument " + argument + " (see --help)" : unknown_command(argument);
  }
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch) && colon != std::string::npos) {
    const bool missing = text.find("missing") != std::string::npos;
    return text.substr(0, colon) + (missing ? ": a value is missing" : ": given more than once");
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Value of --NAME, --no-NAME and --NAME=VALUE, as CLI11 reports it.
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
    if (flag.commands.empty()) options.emplace_back(&flag, add(app, flag));
  }
  std::string topic;
  std::vector<std::string> operands;
  for (const Command& command : all_commands()) {
    CLI::App* const sub = app.add_subcommand(std::string(command.name));
    sub->set_help_flag();
    sub->fallthrough();  // flags of the program are also accepted after the command
    if (command.name == "help") sub->add_option("COMMAND", topic);
    if (!command.operands.empty()) sub->add_option("operands", operands);
    if (command.own_arguments) sub->fallthrough(false)->prefix_command();
    for (const CommandFlag& flag : flags) {
      const auto& commands = flag.commands;
      if (std::find(commands.begin(), commands.end(), command.name) != commands.end())
        options.emplace_back(&flag, add(*sub, flag));
    }
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    const std::vector<CLI::App*> begun = app.get_subcommands();
    const Command* command = begun.empty() ? nullptr : find_command(begun.front()->get_name());
    throw UsageError(explained(error, flags, command), command ? command->usage_status : EXIT_FAILURE);
  }

  CommandLine result;
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  result.command = chosen.empty() ? std::string(all_commands().front().name) : chosen.front()->get_name();
  result.command_given = !chosen.empty();
  if (!chosen.empty() && find_command(result.command)->own_arguments) result.arguments = chosen.front()->remaining();
  if (!operands.empty()) result.arguments = operands;
  result.help_topic = topic;
  if (!topic.empty() && find_command(topic) == nullptr) throw UsageError(unknown_command(topic));
  result.help = help->count() > 0;
  result.version = version->count() > 0;
  for (const auto& [flag, option] : options) {
    if (option->count() == 0) continue;
    std::vector<std::string> values = option->results();
    // For switches the last one counts.
    if (flag->placeholder.empty()) values = {switch_state(*flag, values.back())};
    result.settings.set(flag->name, {std::move(values), "--" + flag->name});
  }
  return result;
}

}  // namespace igpu::exporter
