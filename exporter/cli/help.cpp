// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "cli/flags.h"
#include "igpu/feature.h"
#include "igpu/monitor.h"
#include "platform/own_process.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kHelpColumn = 30;
constexpr std::string_view kDurations = "\nDurations look like 500ms, 1s, 2m.\n";
constexpr std::string_view kEnvironment =
    "Every flag of more than one letter, unless it stands below an action, can also\n"
    "be set in the environment: --log.level is INTEL_GPU_EXPORTER_LOG_LEVEL. The\n"
    "command line overrides it.\n";
constexpr std::string_view kMore =
    "\nThe flags that every command has, such as --gpu and --simulate: --help-all.\n"
    "What is read, and with which rights: `intel-gpu-exporter help collectors`.\n";

// What is more than a few reads of files at each scrape.
constexpr std::pair<std::string_view, std::string_view> kCosts[] = {
    {"engines",
     "a timer of 200 Hz in i915 while the GPU works; xe's PMU keeps a GPU that works from its deepest sleep"},
    {"fdinfo", "a search of /proc at each scrape, unless BPF finds the processes"},
    {"jobs", "a BPF program at each job, and the drivers cannot be unloaded"},
    {"samples", "a thread that reads the GPUs many times a second"},
    {"workloads", "a read of each process of a workload"}};

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

bool concerns_serving(const CommandFlag& flag) {
  return flag.name.starts_with("web.") || flag.name.starts_with("push.") || flag.name == "flight.directory" ||
         flag.name == "sandbox";
}

// Whether a flag that every command accepts has a meaning for this one.
bool is_shared_by(const Command& command, const CommandFlag& flag) {
  switch (command.shared) {
    case Command::Shared::none: return false;
    case Command::Shared::machine: return !concerns_serving(flag);
    case Command::Shared::address: return flag.name == "web.listen-address" || flag.name == "web.config.file";
    case Command::Shared::all: return true;
  }
  return false;
}

void append_help_flags(std::string& out, bool has_more = true) {
  append_entry(out, "-h, --help", "Print this help, or that of a command after its name.");
  if (has_more) append_entry(out, "--help-all", "The same with the flags that every command has.");
  append_entry(out, "--version", "Print version, revision and compiler.");
}

template <class Wanted>
void append_shared_flags(std::string& out, const Wanted& wanted) {
  for (const CommandFlag& flag : all_flags())
    if (flag.commands.empty() && wanted(flag)) append_flag(out, flag);
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

std::string help_text(bool all) {
  std::string out = "usage: " + std::string(kProgramName) + " [COMMAND] [FLAGS]\n\n";
  out += "Prometheus exporter for Intel GPUs.\n\nCommands:\n";
  for (const Command& command : all_commands()) {
    if (!command.hidden) append_entry(out, std::string(command.name), command.help);
  }
  out += "\nFlags:\n";
  append_help_flags(out);
  if (!all)
    return out.append("\nThe flags of a command: `").append(kProgramName) += " help COMMAND`." + std::string(kMore);
  append_shared_flags(out, [](const CommandFlag&) { return true; });
  for (const Command& command : all_commands()) {
    std::string own;
    append_flags_only_for(own, std::string(command.name));
    if (!own.empty()) out += "\nFlags of " + std::string(command.name) + ":\n" + own;
  }
  return out.append(kDurations) += kEnvironment;
}

std::string help_text(const Command& command, bool all, const Command* action) {
  const std::string name(command.name);
  std::string out =
      "usage: " + std::string(kProgramName) + " " +
      (action != nullptr ? name + " " + with_operands(*action) + "\n\n"
                         : with_operands(command) + (command.actions.empty() ? " [FLAGS]\n\n" : " ACTION\n\n"));
  append_wrapped(out, command.help, 0);
  out += "\n\n";
  if (!command.actions.empty()) out += "Actions:\n";
  for (const Command& each : command.actions) {
    if (action != nullptr && action != &each) continue;
    append_entry(out, with_operands(each), each.help);
    append_flags_only_for(out, name + " " + std::string(each.name), 4);
  }
  out += command.actions.empty() ? "Flags:\n" : "\nFlags:\n";
  append_flags_only_for(out, name);
  const bool has_more = command.shared == Command::Shared::machine || command.shared == Command::Shared::all;
  if (command.reads_own_flags()) {
    append_entry(out, "-h", "Print this help.");
  } else {
    append_help_flags(out, has_more);
    append_shared_flags(out, [&](const CommandFlag& flag) {
      const bool at_once = command.shared == Command::Shared::address || (name == "serve" && concerns_serving(flag));
      return (all || at_once) && is_shared_by(command, flag);
    });
  }
  if (!command.exits.empty()) out += "\nExit status:\n";
  for (const ExitStatus& exit : command.exits) append_entry(out, std::string(exit.status), exit.meaning);
  if (command.reads_own_flags()) return out;
  if (out.find(" DURATION") != out.npos || out.find(" TIME ") != out.npos) out += kDurations;
  if (!has_more) return out;
  return all ? out.append(kEnvironment) : out += kMore;
}

std::string collectors_help() {
  std::string out =
      "A collector reads one kind of value. --collector.NAME turns it on, and\n"
      "--no-collector.NAME off; their options are in --help-all. A right brings what\n"
      "stands behind it, or a better source of it: doctor says what is missing\n"
      "here, and how to grant it.\n\n";
  for (const CollectorDescription& collector : describe_collectors()) {
    std::string text(collector.help);
    for (const auto& [name, cost] : kCosts)
      if (name == collector.name) text += "\nCosts " + std::string(cost) + ".";
    std::vector<std::pair<std::string, std::string>> needs;  // right, features
    for (const FeatureDescriptor* const feature : collector.features) {
      const std::string right = right_for(*feature);
      if (right.empty()) continue;
      const auto known = std::ranges::find_if(needs, [&](const auto& need) { return need.first == right; });
      if (known == needs.end())
        needs.emplace_back(right, feature->name);
      else
        known->second.append(", ").append(feature->name);
    }
    for (const auto& [right, features] : needs) text += "\nWith " + right + ": " + features;
    const std::string state = collector.always_on ? " (always)" : collector.enabled_by_default ? "" : " (off)";
    append_entry(out, std::string(collector.name) + state, text);
  }
  return out;
}

}  // namespace igpu::exporter
