// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The one table of commands and of their flags: what the command line, the environment, --help and so the man pages and
// completions know of them. A new flag is one entry in flags.cpp or action_flags.cpp, a new command one in
// commands.cpp.
namespace igpu::exporter {

struct Options;
struct Setting;

struct CommandFlag {
  using Take = std::function<void(Options& to, const Setting& given)>;

  std::string name;           // without dashes: "web.listen-address"
  std::string placeholder;    // "ADDRESS"; "" for a switch
  std::string default_value;  // as it would be written; "" if there is none to show
  std::string help;
  Take take;                                    // reads what was given; throws UsageError
  std::vector<std::string_view> commands = {};  // the only ones that accept it: "stats", "trace record"; empty: all
  bool repeatable = false;
  bool negatable = false;       // a switch that --no-NAME turns off
  bool may_lack_value = false;  // it may stand alone: its value is then ""

  bool is_switch() const { return placeholder.empty(); }
  bool is_for(std::string_view command) const;  // also if it is for all
  bool is_only_for(std::string_view command) const;
  std::string dashed() const { return (name.size() == 1 ? "-" : "--") + name; }
};

// Adds a flag for these commands; for all, if there are none.
struct AddFlag {
  std::vector<CommandFlag>& flags;
  std::vector<std::string_view> commands = {};

  CommandFlag& operator()(std::string name, std::string placeholder, std::string default_value, std::string help,
                          CommandFlag::Take take) const {
    const bool list = placeholder == "LIST";
    return flags.emplace_back(CommandFlag{.name = std::move(name),
                                          .placeholder = std::move(placeholder),
                                          .default_value = std::move(default_value),
                                          .help = std::move(help),
                                          .take = std::move(take),
                                          .commands = commands,
                                          .repeatable = list});
  }
};

struct ExitStatus {
  std::string_view status, meaning;
};

// A command, or an action of one.
struct Command {
  // Another program with its arguments: what follows --, or also what follows the first word that is no flag.
  // own_flags: no other program, but the command reads all words after its name itself.
  enum class Program { none, behind_dashes, first_word, own_flags };

  std::string_view name, help;
  std::string_view operands = {};   // as its usage shows what follows: "[URL...]"
  std::size_t least = 0, most = 0;  // of operands
  std::string_view missing = {};    // the error if there are fewer, or no program
  Program program = Program::none;
  bool reads_own_flags() const { return program == Program::own_flags; }
  int (*run)(const Options&) = nullptr;  // null: help and version, and actions, which their command runs
  // Which of the flags that every command accepts, so that one environment fits all of them, mean something to it:
  // those that say how this machine is read, where the server listens, or all.
  enum class Shared { none, machine, address, all } shared = Shared::none;
  bool hidden = false;
  std::vector<ExitStatus> exits = {};
  std::vector<Command> actions = {};
};

// All flags, those of the collectors generated from the library's descriptions.
const std::vector<CommandFlag>& all_flags();
void add_action_flags(std::vector<CommandFlag>& flags);  // those of trace and level-zero
void add_intel_gpu_top_flags(std::vector<CommandFlag>& flags);
const std::vector<Command>& all_commands();  // the first one is the default
// These, and those of this system only. Commands that it does not have are hidden; they say so when they are run.
std::vector<Command> with_commands_of_system(std::vector<Command> commands);
const Command* find_command(std::string_view name);  // null: unknown command

std::string environment_name(const CommandFlag& flag);  // INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS
// all: also the flags that every command has.
std::string help_text(bool all = false);
// Help of one command: its purpose, its actions, or only this one, and its flags.
std::string help_text(const Command& command, bool all = false, const Command* action = nullptr);
std::string collectors_help();
inline constexpr std::string_view kCollectorsTopic = "collectors";  // of the command help

}  // namespace igpu::exporter
