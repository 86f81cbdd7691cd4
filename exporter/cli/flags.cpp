// SPDX-License-Identifier: Apache-2.0
#include "cli/flags.h"

#include <algorithm>
#include <cctype>

#include "cli/level_zero_arguments.h"
#include "cli/usage_error.h"
#include "igpu/monitor.h"
#include "self/build_info.h"
#include "text/wrap.h"
#include "trace/arguments.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kHelpColumn = 30;

void add_collector_flags(std::vector<CommandFlag>& flags) {
  for (const CollectorDescription& collector : describe_collectors()) {
    const std::string name = "collector." + std::string(collector.name);
    if (!collector.always_on) {
      CommandFlag flag{name, "", collector.enabled_by_default ? "enabled" : "disabled", std::string(collector.help)};
      flag.negatable = true;
      flags.push_back(std::move(flag));
    }
    for (const OptionDescriptor* option : collector.options) {
      const auto is_it = [&](const CommandFlag& flag) { return flag.name == option->flag(); };
      if (std::any_of(flags.begin(), flags.end(), is_it)) continue;  // shared with an earlier collector
      CommandFlag flag{std::string(option->flag()), option->placeholder(), std::string(option->default_value()),
                       std::string(option->help())};
      flag.repeatable = option->repeatable();
      flag.negatable = flag.placeholder.empty();
      flags.push_back(std::move(flag));
    }
  }
}

std::string profile_help() {
  std::string help = "Simulate a machine, or serve a capture (capture:FILE), instead of reading this one:";
  for (const SimulationProfile& profile : simulation_profiles()) {
    help += "\n  " + std::string(profile.name) + ": " + std::string(profile.description);
  }
  return help;
}

// Keeps the indentation of a list within a text, and indents its continuation lines by two more spaces.
void append_entry(std::string& out, const std::string& left, std::string_view help) {
  out += "  " + left;
  std::size_t column = left.size() + 2;
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

std::string left_side(const CommandFlag& flag) {
  std::string text = (flag.negatable ? "--[no-]" : "--") + flag.name;
  if (!flag.placeholder.empty()) text += " " + flag.placeholder;
  return text;
}

std::string described(const CommandFlag& flag) {
  std::string text = flag.help;
  if (flag.repeatable) text += " Repeatable.";
  if (!flag.default_value.empty()) text += " (default: " + flag.default_value + ")";
  return text;
}

}  // namespace

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands{
      {.name = "serve",
       .help = "Serve the metrics over HTTP (the default command).",
       .exits = {{"0", "After SIGTERM or SIGINT."},
                 {"1", "A flag or the configuration is invalid, or an address is in use."}}},
      {.name = "list",
       .help = "Print the GPUs of this machine and what each offers.",
       .exits = {{"0", "Printed, also without a GPU."}, {"1", "A flag is invalid, or --gpu names a missing GPU."}}},
      {.name = "stats",
       .help = "Print one reading, or a stream of them.",
       .usage_status = kUsageStatus,
       .exits = {{"0", "Printed; also when the reader closed the pipe, or a signal ended a stream."},
                 {"1", "--gpu names a missing GPU, or the output cannot be written."},
                 {"2", "A flag is invalid."}}},
      {.name = "top",
       .help = "Show the GPUs and their processes live on the terminal. It reads this machine, or the exporters at URL "
               "(HOST, HOST:PORT or a whole URL); several make a rack view. Without a terminal that can move its "
               "cursor, it prints one frame after another.",
       .operands = "[URL...]",
       .usage_status = kUsageStatus,
       .exits = {{"0", "Ended by q or a signal, or printed; also when the reader closed the pipe."},
                 {"1", "With --once: nothing could be read. Or a library for the terminal or for URLs is missing."},
                 {"2", "A flag or a URL is invalid."}}},
      {.name = "doctor",
       .help =
           "Print what is missing on this machine and the command that fixes it. Exits 0 only if nothing is missing.",
       .exits = {{"0", "Nothing is missing."},
                 {"1",
                  "Something is missing: a GPU, a permission, a feature of the kernel, a valid web configuration; or a "
                  "collector failed, or a flag is invalid."}}},
      {.name = "capture",
       .help = "Write what the exporter reads to a new file, names masked, for a bug report or a test. "
               "docs/send-a-capture.md lists what is in it; --simulate capture:FILE serves it again. "
               "FILE - is standard output.",
       .operands = "FILE.tar.zst",
       .usage_status = kUsageStatus,
       .exits = {{"0", "The file is written."},
                 {"1", "--gpu names a missing GPU, or the file exists or cannot be written."},
                 {"2", "A flag is invalid, or the file is not named."}}},
      {.name = "level-zero",
       .help = "Run a Level Zero program with the tracker of its resources, and list, report, convert or remove what "
               "programs left: level-zero run|list|report|csv|clean|install. Without an action it prints their flags.",
       .own_arguments = true,
       .exits = {{"0", "Done. level-zero run exits with the program's own status."},
                 {"1", "A flag is invalid, a file cannot be read or written, or --fail-on-leak found a leak."}},
       .actions = level_zero_actions()},
      {.name = "trace",
       .help = "Record jobs of the GPUs, with the time each waited and ran, and report, draw or convert the recording: "
               "trace record|report|timeline|export. Without an action it prints their flags.",
       .usage_status = kUsageStatus,
       .own_arguments = true,
       .exits = {{"0", "Done. trace record exits with the command's own status."},
                 {"1",
                  "No driver reports jobs, a permission is missing, a file cannot be read or written, or a trace is "
                  "damaged; what is whole is reported."},
                 {"2", "A flag is invalid, or the file is not a trace."}},
       .actions = trace_actions()},
      {.name = "healthcheck",
       .help = "Check whether the exporter that serves with the same flags is ready. Exits 0 if it is, 1 otherwise.",
       .exits = {{"0", "It is ready."}, {"1", "It is not ready or does not answer, or a flag is invalid."}}},
      {.name = "help", .help = "Print this help, or the help of a command."},
      {.name = "version", .help = "Print version, revision and compiler."},
      {.name = "metrics-reference", .help = "Print the reference of all metrics.", .hidden = true}};
  return commands;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : all_commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::vector<CommandFlag> all_flags() {
  std::vector<CommandFlag> flags;
  const auto add = [&flags](std::string name, std::string placeholder, std::string default_value,
                            std::string help) -> CommandFlag& {
    return flags.emplace_back(
        CommandFlag{std::move(name), std::move(placeholder), std::move(default_value), std::move(help)});
  };

  add("web.listen-address", "ADDRESS", ":10068",
      "Address to listen on: :PORT (all addresses), HOST:PORT, [IPV6]:PORT or unix:/PATH; port 0 selects a free one.")
      .repeatable = true;
  add("web.telemetry-path", "PATH", "/metrics", "Path of the metrics.");
  add("web.config.file", "FILE", "", "File with TLS and authentication settings.");
  add("web.max-requests", "N", "40", "Maximum number of concurrent scrapes; more get a 503. 0 means no limit.");
  add("web.timeout", "DURATION", "10s", "Maximum duration of one scrape.");
  add("web.disable-exporter-metrics", "", "", "Omit process_* and the exporter's request counters.");
  add("sandbox", "", "enabled", "After startup, drop every privilege that scrapes do not need (docs/sandbox.md).")
      .negatable = true;
  add_collector_flags(flags);
  add("collector.disable-defaults", "", "",
      "Run only the collectors that are enabled explicitly; the position of this flag does not matter.");
  add("gpu", "GPU", "", "Monitor only this GPU: PCI address, cardN or renderDN. Without it, all are monitored.")
      .repeatable = true;
  add("path.sysfs", "DIR", "/sys", "Where sysfs is mounted.");
  add("path.procfs", "DIR", "/proc", "Where procfs is mounted.");
  add("path.devfs", "DIR", "/dev", "Where the device nodes are.");
  add("path.rootfs", "DIR", "/",
      "Root of the host's file system, in which collector workloads finds names of pods and containers.");
  add("simulate", "PROFILE", "", profile_help());
  add("scrape.min-window", "DURATION", "1s", "Minimum time over which ratios and averages are computed.");
  add("log.level", "LEVEL", "info", "debug, info, warn or error.");
  add("log.format", "FORMAT", "logfmt", "logfmt or json.");
  add("config", "FILE", "", "Read flags from a file, one per line: web.listen-address = :10068");
  add("json", "", "", "Print JSON; stats prints one line for each reading.").commands = {"list", "stats", "doctor"};
  add("format", "table|json|csv|influx|intel_gpu_top", "table",
      "Output format; docs/stats.md describes each. json is what --json prints, with its version.")
      .commands = {"stats"};
  add("interval", "DURATION", "1s", "Time between readings. If given, stats prints a stream.").commands = {"stats",
                                                                                                           "top"};
  add("count", "N", "", "Number of readings. Without --count, --for and --interval, stats prints one.").commands = {
      "stats"};
  add("for", "DURATION", "", "Print a stream of readings for this long.").commands = {"stats"};
  CommandFlag& summary = add("summary", "", "enabled",
                             "After a stream, print minimum, mean, maximum and 95th percentile of each value to "
                             "standard error; disabled with --json.");
  summary.commands = {"stats"};
  summary.negatable = true;
  add("once", "", "", "Print one frame, as plain text if standard output is not a terminal.").commands = {"top"};
  add("cacert", "FILE", "", "Trust the certificates of this file instead of the system's, as in curl.").commands = {
      "top"};
  add("cert", "FILE", "", "Client certificate (PEM).").commands = {"top"};
  add("key", "FILE", "", "Its private key (PEM).").commands = {"top"};
  add("user", "NAME:PASSWORD", "",
      "User for basic authentication. Without :PASSWORD, top asks for the password. Unlike the command line, the "
      "environment hides it from other users.")
      .commands = {"top"};
  add("insecure", "", "", "Do not check the certificates of hosts.").commands = {"top"};
  add("max-time", "DURATION", "5s", "Maximum time for a host's answer.").commands = {"top"};
  return flags;
}

std::string environment_name(const CommandFlag& flag) {
  std::string name = "INTEL_GPU_EXPORTER_";
  for (const char c : flag.name) {
    name += c == '.' || c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

namespace {

constexpr std::string_view kFooter =
    "\nDurations look like 500ms, 1s, 2m. Every flag can also be set in the\n"
    "environment: --web.listen-address is INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS. The\n"
    "command line overrides the environment, the environment overrides --config.\n";

bool is_for(const CommandFlag& flag, std::string_view command) {
  return std::find(flag.commands.begin(), flag.commands.end(), command) != flag.commands.end();
}

// Every command accepts the flags that name no command, so that one --config fits all commands; but these flags have no
// meaning for commands that do not serve.
bool concerns_serving(const CommandFlag& flag) { return flag.name.starts_with("web.") || flag.name == "sandbox"; }

void append_standard_flags(std::string& out) {
  append_entry(out, "-h, --help", "Print this help.");
  append_entry(out, "--version", "Print version, revision and compiler.");
}

}  // namespace

std::string help_text(const std::vector<CommandFlag>& flags) {
  std::string out = "usage: " + std::string(kProgramName) + " [COMMAND] [FLAGS]\n\n";
  out += "Prometheus exporter for Intel GPUs.\n\nCommands:\n";
  for (const Command& command : all_commands()) {
    if (!command.hidden) append_entry(out, std::string(command.name), command.help);
  }
  out += "\nFlags:\n";
  append_standard_flags(out);
  for (const CommandFlag& flag : flags) {
    if (flag.commands.empty()) append_entry(out, left_side(flag), described(flag));
  }
  for (const Command& command : all_commands()) {
    if (std::none_of(flags.begin(), flags.end(), [&](const CommandFlag& flag) { return is_for(flag, command.name); }))
      continue;
    out += "\nFlags of " + std::string(command.name) + ":\n";
    for (const CommandFlag& flag : flags) {
      if (is_for(flag, command.name)) append_entry(out, left_side(flag), described(flag));
    }
  }
  out += kFooter;
  return out;
}

std::string help_text(const std::vector<CommandFlag>& flags, const Command& command) {
  std::string out = "usage: " + std::string(kProgramName) + " " + std::string(command.name) +
                    (command.operands.empty() ? "" : " " + std::string(command.operands)) +
                    (command.actions.empty() ? " [FLAGS]\n\n" : " ACTION\n\n");
  append_wrapped(out, command.help, 0);
  out += "\n\n";
  if (!command.actions.empty()) out += std::string(command.actions) + "\n";
  out += command.actions.empty() ? "Flags:\n" : "Flags, before the word " + std::string(command.name) + ":\n";
  const bool serves = command.name == "serve" || command.name == "healthcheck" || command.name == "doctor";
  for (const CommandFlag& flag : flags) {
    if (is_for(flag, command.name)) append_entry(out, left_side(flag), described(flag));
  }
  append_standard_flags(out);
  for (const CommandFlag& flag : flags) {
    if (flag.commands.empty() && (serves || !concerns_serving(flag)))
      append_entry(out, left_side(flag), described(flag));
  }
  if (!command.exits.empty()) out += "\nExit status:\n";
  for (const ExitStatus& exit : command.exits) append_entry(out, std::string(exit.status), exit.meaning);
  out += kFooter;
  return out;
}

}  // namespace igpu::exporter
