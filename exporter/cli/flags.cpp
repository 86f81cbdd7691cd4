// SPDX-License-Identifier: Apache-2.0
#include "cli/flags.h"

#include <algorithm>
#include <cctype>

#include "igpu/monitor.h"
#include "self/build_info.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kHelpColumn = 44;
constexpr std::size_t kWidth = 110;

void add_collector_flags(std::vector<CommandFlag>& flags) {
  for (const CollectorDescription& collector : describe_collectors()) {
    const std::string name = "collector." + std::string(collector.name);
    if (!collector.always_on) {
      CommandFlag flag{name, "", collector.enabled_by_default ? "enabled" : "disabled", std::string(collector.help)};
      flag.negatable = true;
      flags.push_back(std::move(flag));
    }
    for (const CollectorDescription::Option& option : collector.options) {
      const std::string choices(option.choices);
      flags.push_back({name + "." + std::string(option.name), choices.empty() ? "N" : choices,
                       std::string(option.default_value), std::string(option.help)});
    }
  }
}

std::string profile_help() {
  std::string help = "Show a simulated machine instead of this one:";
  for (const SimulationProfile& profile : simulation_profiles()) {
    help += "\n  " + std::string(profile.name) + ": " + std::string(profile.description);
  }
  return help;
}

// Words of one paragraph, wrapped behind kHelpColumn; its own indentation is kept.
void append_paragraph(std::string& out, std::string_view paragraph) {
  std::size_t indent = 0;
  while (indent < paragraph.size() && paragraph[indent] == ' ') ++indent;
  paragraph.remove_prefix(indent);
  out.append(indent, ' ');
  std::size_t column = kHelpColumn + indent;
  bool first = true;
  while (!paragraph.empty()) {
    const std::size_t end = std::min(paragraph.find(' '), paragraph.size());
    const std::string_view word = paragraph.substr(0, end);
    paragraph.remove_prefix(std::min(end + 1, paragraph.size()));
    if (!first && column + 1 + word.size() > kWidth) {
      out += '\n';
      out.append(kHelpColumn + indent + 2, ' ');
      column = kHelpColumn + indent + 2;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  out += '\n';
}

void append_entry(std::string& out, const std::string& left, std::string_view help) {
  out += "  " + left;
  std::size_t column = left.size() + 2;
  if (column + 2 > kHelpColumn) {
    out += '\n';
    column = 0;
  }
  while (!help.empty()) {
    out.append(kHelpColumn - column, ' ');
    column = 0;
    const std::size_t end = std::min(help.find('\n'), help.size());
    append_paragraph(out, help.substr(0, end));
    help.remove_prefix(std::min(end + 1, help.size()));
  }
}

std::string left_side(const CommandFlag& flag) {
  std::string text = (flag.negatable ? "--[no-]" : "--") + flag.name;
  if (!flag.placeholder.empty()) text += " " + flag.placeholder;
  return text;
}

std::string described(const CommandFlag& flag) {
  std::string text = flag.help;
  if (flag.repeatable) text += " May be given several times.";
  if (!flag.default_value.empty()) text += " (default: " + flag.default_value + ")";
  return text;
}

}  // namespace

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands{
      {"serve", "Serve the metrics over HTTP (what happens without a command)."},
      {"list", "Print the GPUs of this machine and what each offers."},
      {"stats", "Print one reading, or a stream of them."},
      {"doctor", "Print what is missing on this machine and the command that gives it. Exits 0 only if all is there."},
      {"healthcheck",
       "Ask the exporter that serves with the same flags whether it is ready. Exits 0 if it is, else 1."},
      {"metrics-reference", "Print the reference of all metrics.", true}};
  return commands;
}

std::vector<CommandFlag> all_flags() {
  std::vector<CommandFlag> flags;
  const auto add = [&flags](std::string name, std::string placeholder, std::string default_value,
                            std::string help) -> CommandFlag& {
    return flags.emplace_back(
        CommandFlag{std::move(name), std::move(placeholder), std::move(default_value), std::move(help)});
  };

  add("web.listen-address", "ADDRESS", ":10068",
      "Where to listen: :PORT (all addresses), HOST:PORT, [IPV6]:PORT or unix:/PATH; port 0 takes a free one.")
      .repeatable = true;
  add("web.telemetry-path", "PATH", "/metrics", "Path of the metrics.");
  add("web.config.file", "FILE", "", "File with TLS and authentication settings.");
  add("web.max-requests", "N", "40", "Scrapes under way at once; more are answered 503. 0 means no limit.");
  add("web.timeout", "DURATION", "10s", "Longest time for one scrape.");
  add("web.disable-exporter-metrics", "", "", "Leave out process_* and the exporter's request counters.");
  add("sandbox", "", "enabled", "After the start, give up every right that scrapes do not need (docs/sandbox.md).").negatable =
      true;
  add_collector_flags(flags);
  add("collector.disable-defaults", "", "",
      "Only collectors that are named explicitly run, wherever this flag stands.");
  add("gpu", "GPU", "", "Watch only this GPU: PCI address, cardN or renderDN. All are watched by default.").repeatable =
      true;
  add("path.sysfs", "DIR", "/sys", "Where sysfs is mounted.");
  add("path.procfs", "DIR", "/proc", "Where procfs is mounted.");
  add("path.devfs", "DIR", "/dev", "Where the device nodes are.");
  add("simulate", "PROFILE", "", profile_help());
  add("scrape.min-window", "DURATION", "1s", "Shortest time over which ratios and averages are computed.");
  add("log.level", "LEVEL", "info", "debug, info, warn or error.");
  add("log.format", "FORMAT", "logfmt", "logfmt or json.");
  add("config", "FILE", "", "Read flags from a file, one a line: web.listen-address = :10068");
  add("json", "", "", "Print each reading as one line of JSON.").command = "stats";
  add("interval", "DURATION", "1s", "Time between readings; makes it a stream.").command = "stats";
  add("count", "N", "", "Number of readings. Without it and --interval: one.").command = "stats";
  return flags;
}

std::string environment_name(const CommandFlag& flag) {
  std::string name = "INTEL_GPU_EXPORTER_";
  for (const char c : flag.name) {
    name += c == '.' || c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string help_text(const std::vector<CommandFlag>& flags) {
  std::string out = "usage: " + std::string(kProgramName) + " [COMMAND] [FLAGS]\n\n";
  out += "Prometheus exporter for Intel GPUs.\n\nCommands:\n";
  for (const Command& command : all_commands()) {
    if (!command.hidden) append_entry(out, std::string(command.name), command.help);
  }
  out += "\nFlags:\n";
  append_entry(out, "-h, --help", "Print this.");
  append_entry(out, "--version", "Print version, revision and compiler.");
  for (const CommandFlag& flag : flags) {
    if (flag.command.empty()) append_entry(out, left_side(flag), described(flag));
  }
  for (const Command& command : all_commands()) {
    bool any = false;
    for (const CommandFlag& flag : flags) {
      if (flag.command != command.name) continue;
      if (!any) out += "\nFlags of " + std::string(command.name) + ":\n";
      any = true;
      append_entry(out, left_side(flag), described(flag));
    }
  }
  out +=
      "\nDurations are written like 500ms, 1s, 2m. Every flag can also be set in the environment:\n"
      "--web.listen-address is INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS. The command line wins over the environment,\n"
      "the environment over --config.\n";
  return out;
}

}  // namespace igpu::exporter
