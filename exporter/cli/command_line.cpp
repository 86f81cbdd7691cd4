// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/flags.h"
#include "text/text.h"

// The only file that includes CLI11, which takes seconds and hundreds of megabytes to compile.
namespace igpu::exporter {
namespace {

using Words = std::vector<std::string>;

std::string suggestion(const std::string& word, const Words& candidates) {
  const std::string meant = nearest(word, candidates);
  return meant.empty() ? " (see --help)" : "; did you mean " + meant + "?";
}

[[noreturn]] void fail_for_unknown(const std::vector<Command>& commands, const std::string& what,
                                   const std::string& name) {
  Words names;
  for (const Command& command : commands)
    if (!command.hidden) names.emplace_back(command.name);
  throw UsageError(what + name + suggestion(name, names));
}

const Command* named(const std::vector<Command>& commands, const std::string& name) {
  const auto found = std::ranges::find_if(commands, [&](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

// Builds a CLI::App from the table: the shared flags belong to the program, the others to their command or action,
// which passes on the flags that it does not have.
class Parser {
 public:
  Parser() {
    program_.allow_extras();
    program_.set_help_flag();
    program_.require_subcommand(0, 1);
    program_.add_flag("-h,--help", line_.help);
    program_.add_flag("--help-all", line_.help_all);
    program_.add_flag("--version", line_.version);
    add_flags(program_, [](const CommandFlag& flag) { return flag.commands.empty(); });
    program_.add_option("operands", before_command_);
    for (const Command& command : all_commands()) add_command(command);
  }

  CommandLine parse(const Words& words) {
    const auto dashes = std::ranges::find(words, "--");
    try {
      parse_flags({words.begin(), dashes});
      choose();
      take_words(words, dashes);
      take_flags();
      line_.help = line_.help || line_.help_all;
      if (!line_.help && !line_.version) check();
    } catch (const UsageError& error) {
      throw line_.with_place(error);
    }
    return std::move(line_);
  }

 private:
  struct Given {
    const CommandFlag* flag;
    CLI::Option* option;
  };

  template <class Wanted>
  void add_flags(CLI::App& app, Wanted wanted) {
    for (const CommandFlag& flag : all_flags())
      if (wanted(flag) && app.get_option_no_throw(flag.dashed()) == nullptr) given_.push_back({&flag, add(app, flag)});
  }

  static CLI::Option* add(CLI::App& app, const CommandFlag& flag) {
    using Policy = CLI::MultiOptionPolicy;
    if (flag.is_switch())
      return app.add_flag(flag.dashed() + (flag.negatable ? ",!--no-" + flag.name : ""))
          ->multi_option_policy(Policy::TakeLast);
    // One value per use: the next word may be the command. CLI11 keeps to it only without an upper limit of values.
    CLI::Option* const option = app.add_option(flag.dashed())->type_size(1)->expected(1);
    if (flag.may_lack_value) option->expected(0, 1);
    if (flag.repeatable) option->expected(1, -1)->allow_extra_args(false)->multi_option_policy(Policy::TakeAll);
    return option;
  }

  void add_command(const Command& command) {
    CLI::App* const app = program_.add_subcommand(std::string(command.name));
    app->set_help_flag();
    if (command.reads_own_flags()) return;  // CLI11 leaves all of its words
    app->require_subcommand(0, 1);
    app->fallthrough()->add_option("operands", operands_);
    add_flags(*app, [&](const CommandFlag& flag) { return flag.is_only_for(command.name); });
    for (const Command& action : command.actions) add_action(*app, command, action);
  }

  void add_action(CLI::App& command_app, const Command& command, const Command& action) {
    CLI::App* const app = command_app.add_subcommand(std::string(action.name));
    app->set_help_flag();
    const std::string path = std::string(command.name) + " " + std::string(action.name);
    add_flags(*app, [&](const CommandFlag& flag) { return flag.is_only_for(path); });
    if (action.program != Command::Program::first_word) {
      app->fallthrough()->add_option("operands", operands_);
      return;
    }
    // What follows the first word that is no flag is not for this program. CLI11 stops there only where nothing is
    // passed on, so this action has all flags itself.
    app->fallthrough(false)->prefix_command();
    app->add_flag("-h,--help", line_.help);
    app->add_flag("--help-all", line_.help_all);
    app->add_flag("--version", line_.version);
    add_flags(*app, [&](const CommandFlag& flag) { return flag.is_for(command.name); });
  }

  CLI::App* chosen() const { return chosen_below(&program_); }
  static CLI::App* chosen_below(const CLI::App* app) {
    if (app == nullptr || app->get_subcommands().empty()) return nullptr;
    return app->get_subcommands().front();
  }

  void choose() {
    line_.command = chosen() ? named(all_commands(), chosen()->get_name()) : &all_commands().front();
    line_.command_given = chosen() != nullptr;
    if (const CLI::App* const action = chosen_below(chosen()))
      line_.action = named(line_.command->actions, action->get_name());
  }

  void parse_flags(const Words& words) {
    try {
      program_.parse(Words(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
      choose();  // for the exit status
      throw UsageError(explained(error));
    }
  }

  // CLI11's messages describe what its parser expected, not the argument that is wrong.
  static std::string explained(const CLI::ParseError& error) {
    std::string text = error.what();
    const std::size_t colon = text.find(": ");
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch) && colon != std::string::npos) {
      const bool missing = text.find("missing") != std::string::npos;
      return text.substr(0, colon) + (missing ? ": a value is missing" : ": given more than once");
    }
    std::ranges::replace(text, '\n', ' ');
    return text;
  }

  // What reads the operands: the action, or the command where it has none.
  const Command& place() const { return line_.action ? *line_.action : *line_.command; }

  // Operands, and what belongs to another program: words that CLI11 left, and all that follow --.
  void take_words(const Words& words, Words::const_iterator dashes) {
    Words left = program_.remaining(true);
    if (place().reads_own_flags()) {
      left.insert(left.end(), dashes, words.end());
      line_.operands = std::move(left);
      return;
    }
    if (!left.empty() && left.front().size() > 1 && left.front().starts_with('-'))
      throw UsageError(unknown_flag(left.front().substr(0, left.front().find('='))));
    if (!before_command_.empty() && before_command_.front().empty()) fail_for_empty();
    if (!before_command_.empty()) fail_for_unknown(all_commands(), "unknown command ", before_command_.front());
    line_.operands = std::move(operands_);
    line_.program = std::move(left);
    if (dashes == words.end()) return;
    const bool has_program = place().program != Command::Program::none;
    if (!line_.program.empty()) line_.program.push_back(*dashes);  // its own
    Words& into = has_program ? line_.program : line_.operands;
    into.insert(into.end(), dashes + 1, words.end());
    if (has_program && into.empty()) fail_for_lack();
  }

  // A flag may be given to the program, to a command and to an action; what is nearest to the end comes last.
  void take_flags() {
    for (const auto& [flag, option] : given_) {
      if (option->count() == 0) continue;
      Setting setting{option->results(), flag->dashed(), flag};
      if (flag->is_switch()) {  // the last one counts
        const std::string& last = setting.values.back();
        // CLI11 does not know these words, so it does not invert them after --no-NAME.
        if (last == "enabled" || last == "disabled")
          throw UsageError(setting.origin + ": \"" + last + "\" is neither true nor false");
        setting.values = {switch_value(last == "-1" ? "false" : last, false, setting.origin)};
      }
      line_.settings.set(flag->name, std::move(setting));
    }
  }

  bool accepts(const CommandFlag& flag) const {
    return flag.commands.empty() || (line_.command_given && flag.is_only_for(line_.command->name)) ||
           (line_.action && flag.is_only_for(line_.path()));
  }

  // A flag of another command is reported as such, not as unknown.
  std::string unknown_flag(const std::string& name) const {
    std::string commands;
    Words names{"--help", "--help-all", "--version"};
    for (const CommandFlag& flag : all_flags()) {
      if (flag.dashed() == name && accepts(flag)) return name + " stands after " + line_.path();
      if (flag.dashed() == name)
        for (const std::string_view command : flag.commands)
          commands.append(commands.empty() ? "" : ", ").append(command);
      if (!accepts(flag)) continue;
      names.push_back(flag.dashed());
      if (flag.negatable) names.push_back("--no-" + flag.name);
    }
    return commands.empty() ? "unknown flag " + name + suggestion(name, names) : name + " is a flag of " + commands;
  }

  [[noreturn]] static void fail_for_empty() { throw UsageError("an argument is empty (see --help)"); }
  [[noreturn]] void fail_for_lack() const { throw UsageError(std::string(place().missing)); }

  void check() {
    if (place().reads_own_flags()) return;
    const bool has_program = !line_.program.empty();
    if (has_program && line_.program.front().empty()) fail_for_empty();
    const bool wants_action = !line_.command->actions.empty() && line_.action == nullptr;
    if (wants_action && !line_.operands.empty() && named(line_.command->actions, line_.operands.front()))
      throw UsageError(std::string(line_.command->name) + ": the action stands before --");
    if (wants_action && !line_.operands.empty() && line_.operands.front() != "help")
      fail_for_unknown(line_.command->actions, std::string(line_.command->name) + ": unknown action ",
                       line_.operands.front());
    if (wants_action) {
      line_.help = line_.help || !line_.operands.empty();
      return;
    }
    const Command& place = this->place();
    if (place.name == "help" && !line_.operands.empty() && line_.operands.front() != kCollectorsTopic &&
        !named(all_commands(), line_.operands.front()))
      fail_for_unknown(all_commands(), "unknown command ", line_.operands.front());
    if (std::ranges::find(line_.operands, "") != line_.operands.end()) fail_for_empty();
    if (line_.operands.size() > place.most)
      throw UsageError("unexpected argument " + line_.operands[place.most] +
                       (place.program == Command::Program::none ? " (see --help)" : "; a command stands after --"));
    if (line_.operands.size() < place.least || (place.program == Command::Program::first_word && !has_program))
      fail_for_lack();
  }

  CLI::App program_;
  std::vector<Given> given_;
  Words before_command_, operands_;
  CommandLine line_;
};

}  // namespace

std::string CommandLine::path() const {
  return std::string(command->name) + (action ? " " + std::string(action->name) : "");
}

UsageError CommandLine::with_place(const UsageError& error) const {
  return UsageError((action ? path() + ": " : "") + error.what(), error.status());
}

CommandLine parse_command_line(const std::vector<std::string>& arguments) { return Parser().parse(arguments); }

}  // namespace igpu::exporter
