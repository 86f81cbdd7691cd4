// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output.h"
#include "igpu/units.h"

namespace igpu::exporter {

struct CommandFlag;

// What was given for one flag. The readers throw UsageError, which names the origin.
struct Setting {
  std::vector<std::string> values;    // of a switch: "true" or "false"
  std::string origin;                 // its name in errors: "--gpu", "INTEL_GPU_EXPORTER_GPU"
  const CommandFlag* flag = nullptr;  // whose take() reads it

  [[noreturn]] void refuse(const std::string& why) const;
  const std::string& text() const { return values.back(); }
  const std::string& file() const;  // not ""
  bool on() const { return values.back() == "true"; }
  std::uint64_t number(std::uint64_t least, std::uint64_t most) const;
  std::uint64_t size(std::uint64_t least) const;  // "4096", "256M", "1GiB"
  Nanoseconds duration(Nanoseconds least) const;
  std::size_t one_of(std::span<const std::string_view> words) const;
  template <class T>
  T choice(std::initializer_list<std::pair<std::string_view, T>> choices) const {
    std::vector<std::string_view> words;
    for (const auto& [word, value] : choices) words.push_back(word);
    return (choices.begin() + one_of(words))->second;
  }
  // Each word of all values, which commas separate.
  std::vector<Setting> each() const;
  std::vector<std::string> words() const;
};

// The values given for flags, from any source.
class Settings {
 public:
  void set(const std::string& flag, Setting setting) { settings_.insert_or_assign(flag, std::move(setting)); }
  bool has(const std::string& flag) const { return settings_.contains(flag); }
  const Setting* find(const std::string& flag) const {
    const auto it = settings_.find(flag);
    return it == settings_.end() ? nullptr : &it->second;
  }
  const std::map<std::string, Setting>& all() const { return settings_; }

 private:
  std::map<std::string, Setting> settings_;
};

using Environment = std::function<const char*(const char*)>;  // ::getenv, or a fake in tests

// Adds values from the environment for the flags of a command that are not set yet; flags of its actions and those of
// one letter have no variable. Throws UsageError.
void add_environment(Settings& settings, const std::vector<CommandFlag>& flags, std::string_view command,
                     const Environment& environment);

// "true" or "false" for a switch. Throws UsageError.
std::string switch_value(std::string_view text, bool negated, const std::string& origin);

// The one table of commands and of their flags: what the command line, the environment, --help and so the man pages and
// completions know of them. A new flag is one entry in flags.cpp or action_flags.cpp, a new command one in
// commands.cpp.

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

struct CommandLine {
  const Command* command = nullptr;  // the default one if none is named
  const Command* action = nullptr;   // of a command that has some
  bool command_given = false;
  std::vector<std::string> operands;
  std::vector<std::string> program;  // another program with its arguments
  bool help = false, help_all = false;
  bool version = false;
  Settings settings;

  std::string path() const;  // "stats", "trace record"
  // An error in it, with the action's name and the command's status.
  UsageError with_place(const UsageError& error) const;
};

// Splits the arguments (without the program's name) into command, action, operands and flags, without checking values.
// Throws UsageError.
CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace igpu::exporter
