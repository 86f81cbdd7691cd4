// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "cli/flags.h"
#include "self/build_info.h"
#include "text/wrap.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kHelpColumn = 30;
constexpr std::string_view kFooter =
    "\nDurations look like 500ms, 1s, 2m. Every flag, except those of one letter and\n"
    "of actions such as trace record, can also be set in the environment:\n"
    "--web.listen-address is\n"
    "INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS. The command line overrides it.\n";

// Keeps the indentation of a list within a text, and indents its continuation lines by two more spaces.
void append_entry(std::string& out, const std::string& left, std::string_view help, std::size_t margin = 2) {
  out.append(margin, ' ') += left;
  std::size_t column = left.size() + margin;
  if (column + 2 > kHelpColumn) {
    out += '\n';
    column = 0;
  }
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    const std::string_view paragraph = help.substr(0, end);
    const std::size_t indent = std::min(paragraph.find_first_not_of(' '), paragraph.size());
    out.append(kHelpColumn + indent - column, ' ');
    append_wrapped(out, paragraph, kHelpColumn + indent + (indent > 0 ? 2 : 0));
    out += '\n';
    help.remove_prefix(std::min(end + 1, help.size()));
    column = 0;
  }
}

void append_flag(std::string& out, const CommandFlag& flag, std::size_t margin = 2) {
  std::string left = flag.negatable ? "--[no-]" + flag.name : flag.dashed();
  if (flag.may_lack_value)
    left += " [" + flag.placeholder + "]";
  else if (!flag.is_switch())
    left += " " + flag.placeholder;
  std::string help = flag.help;
  if (flag.repeatable && flag.placeholder != "LIST") help += " Repeatable.";
  if (!flag.default_value.empty()) help += " (default: " + flag.default_value + ")";
  append_entry(out, left, help, margin);
}

void append_flags_only_for(std::string& out, const std::string& command, std::size_t margin = 2) {
  for (const CommandFlag& flag : all_flags()) {
    if (flag.is_only_for(command)) append_flag(out, flag, margin);
  }
}

// Every command accepts the flags that name no command, so that one environment fits all commands; but these flags have
// no meaning for commands that do not serve.
bool concerns_serving(const CommandFlag& flag) {
  return flag.name.starts_with("web.") || flag.name.starts_with("push.") || flag.name == "flight.directory" ||
         flag.name == "sandbox";
}

void append_shared_flags(std::string& out, bool serves) {
  append_entry(out, "-h, --help", "Print this help.");
  append_entry(out, "--version", "Print version, revision and compiler.");
  for (const CommandFlag& flag : all_flags()) {
    if (flag.commands.empty() && (serves || !concerns_serving(flag))) append_flag(out, flag);
  }
}

std::string with_operands(const Command& command) {
  return std::string(command.name) + (command.operands.empty() ? "" : " " + std::string(command.operands));
}

}  // namespace

std::string environment_name(const CommandFlag& flag) {
  std::string name = "INTEL_GPU_EXPORTER_";
  for (const char c : flag.name) {
    name += c == '.' || c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string help_text() {
  std::string out = "usage: " + std::string(kProgramName) + " [COMMAND] [FLAGS]\n\n";
  out += "Prometheus exporter for Intel GPUs.\n\nCommands:\n";
  for (const Command& command : all_commands()) {
    if (!command.hidden) append_entry(out, std::string(command.name), command.help);
  }
  out += "\nFlags:\n";
  append_shared_flags(out, true);
  for (const Command& command : all_commands()) {
    std::string own;
    append_flags_only_for(own, std::string(command.name));
    if (!own.empty()) out += "\nFlags of " + std::string(command.name) + ":\n" + own;
  }
  return out += kFooter;
}

std::string help_text(const Command& command) {
  const std::string name(command.name);
  std::string out = "usage: " + std::string(kProgramName) + " " + with_operands(command) +
                    (command.actions.empty() ? " [FLAGS]\n\n" : " ACTION\n\n");
  append_wrapped(out, command.help, 0);
  out += "\n\n";
  if (!command.actions.empty()) out += "Actions:\n";
  for (const Command& action : command.actions) {
    append_entry(out, with_operands(action), action.help);
    append_flags_only_for(out, name + " " + std::string(action.name), 4);
  }
  out += command.actions.empty() ? "Flags:\n" : "\nFlags:\n";
  append_flags_only_for(out, name);
  if (command.reads_own_flags())
    append_entry(out, "-h", "Print this help.");
  else
    append_shared_flags(out, name == "serve" || name == "healthcheck" || name == "doctor");
  if (!command.exits.empty()) out += "\nExit status:\n";
  for (const ExitStatus& exit : command.exits) append_entry(out, std::string(exit.status), exit.meaning);
  return command.reads_own_flags() ? out : out += kFooter;
}

}  // namespace igpu::exporter
