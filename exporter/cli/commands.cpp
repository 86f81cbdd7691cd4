// SPDX-License-Identifier: Apache-2.0
#include "cli/flags.h"
#include "cli/options.h"
#include "view/intel_gpu_top/intel_gpu_top_arguments.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kAny = ~std::size_t{0};
constexpr ExitStatus kInvalidFlag{"2", "A flag is invalid."};

// An action that reads a trace.
Command of_trace(std::string_view name, std::string_view help) {
  return {
      .name = name, .help = help, .operands = "FILE", .least = 1, .most = 1, .missing = "which file of trace record?"};
}

std::vector<Command> trace_actions() {
  return {{.name = "record",
           .help = "record jobs until ^C or until the command ends",
           .operands = "[FLAGS] [-- COMMAND]",
           .missing = "no command after --",
           .program = Command::Program::behind_dashes},
          of_trace("report", "losses, times and outcomes, or what a flag selects"),
          of_trace("timeline", "lanes of text: what ran, what waited"),
          of_trace("export", "a row of CSV for each job")};
}

std::vector<Command> level_zero_actions() {
  return {{.name = "run",
           .help = "run a Level Zero program with the tracker; exits with the program's status",
           .operands = "[FLAGS] -- PROGRAM ...",
           .missing = "which program?",
           .program = Command::Program::first_word},
          {.name = "list", .help = "programs that run or ran with the tracker"},
          {.name = "report",
           .help = "a report of CSVs, logs or pages",
           .operands = "[FLAGS] FILE...",
           .least = 1,
           .most = kAny,
           .missing = "which CSV, log or page?"},
          {.name = "csv",
           .help = "a log as CSV",
           .operands = "LOG [FILE]",
           .least = 1,
           .most = 2,
           .missing = "which log, and perhaps which file to write?"},
          {.name = "clean", .help = "remove the pages of programs that ended"},
          {.name = "install",
           .help = "copy the tracker there, for another container",
           .operands = "DIR",
           .least = 1,
           .most = 1,
           .missing = "into which folder?"}};
}

std::vector<Command> commands_of_all_systems() {
  return {
      {.name = "serve",
       .help = "Serve the metrics over HTTP (the default command).",
       .run = serve,
       .shared = Command::Shared::all,
       .exits = {{"0", "After SIGTERM or SIGINT."},
                 {"1", "The configuration is invalid, or an address is in use."},
                 kInvalidFlag}},
      {.name = "list",
       .help = "Print the GPUs of this machine and what each offers.",
       .run = list,
       .shared = Command::Shared::machine,
       .exits = {{"0", "Printed."}, {"1", "There is no GPU and no NPU, or --gpu names a missing GPU."}, kInvalidFlag}},
      {.name = "stats",
       .help = "Print one reading, or a stream of them.",
       .run = stats,
       .shared = Command::Shared::machine,
       .exits = {{"0", "Printed; also when the reader closed the pipe, or a signal ended a stream."},
                 {"1", "There is no GPU and no NPU, --gpu names a missing GPU, or the output cannot be written."},
                 kInvalidFlag}},
      {.name = "query",
       .help = "Print values of the GPUs for a script: the fields that --fields names, of each GPU a line. Without "
               "fields, a table for a quick look, or with --json or --format its columns.",
       .run = query_command,
       .shared = Command::Shared::machine,
       .exits = {{"0", "Printed; also when the reader closed the pipe, or a signal ended a loop."},
                 {"1", "There is no GPU, --gpu or --id names a missing GPU, or the output cannot be written."},
                 {"2", "A flag is invalid, or a field does not exist; the line names the nearest."}}},
      {.name = "top",
       .help = "Show the GPUs and their processes live on the terminal. It reads this machine, or the exporters at URL "
               "(HOST, HOST:PORT or a whole URL); several make a rack view. Without a terminal that can move its "
               "cursor, it prints one frame after another.",
       .operands = "[URL...]",
       .most = kAny,
       .run = top_command,
       .shared = Command::Shared::machine,
       .exits = {{"0", "Ended by q or a signal, or printed; also when the reader closed the pipe."},
                 {"1",
                  "With --once: nothing could be read, or there is no GPU and no NPU. Or a library for the terminal or "
                  "for URLs is missing."},
                 {"2", "A flag or a URL is invalid."}}},
      {.name = kIntelGpuTop,
       .help = "Print readings of one GPU as intel_gpu_top does, with its flags, timing and exit status, under xe too; "
               "also if the program is started by this name. Without -J, -c and -l on a terminal it shows top. "
               "IGT_LAYOUT=1.27 in the environment selects the output of igt 1.27 and older. The flags of other "
               "commands are taken from the environment: INTEL_GPU_EXPORTER_SIMULATE=arc-a770.",
       .program = Command::Program::own_flags,
       .run = intel_gpu_top,
       .exits = {{"0", "Ended by SIGINT or after -n records; also -h and -L."},
                 {"1", "As in the original also: a flag is invalid, no GPU is found, or the output cannot be written."},
                 {"141", "The reader closed the pipe."},
                 {"143", "Ended by SIGTERM: the array of -J stays open."}}},
      {.name = "doctor",
       .help = "Print what is missing on this machine and the command that fixes it. Exits 0 only if nothing is "
               "missing, or "
               "if --bug wrote its file.",
       .run = doctor,
       .shared = Command::Shared::all,
       .exits = {{"0", "Nothing is missing; with --bug: the file is written."},
                 {"1",
                  "Something is missing: a GPU, a permission, a feature of the kernel, a valid web configuration; or a "
                  "collector failed."},
                 kInvalidFlag}},
      {.name = "capture",
       .help = "Write what the exporter reads to a new file, names masked, for a bug report or a test. "
               "docs/send-a-capture.md lists what is in it; --simulate capture:FILE serves it again. "
               "FILE - is standard output.",
       .operands = "FILE.tar.zst",
       .least = 1,
       .most = 1,
       .missing = "capture needs the file to write: capture FILE.tar.zst",
       .run = capture,
       .shared = Command::Shared::machine,
       .exits = {{"0", "The file is written."},
                 {"1", "--gpu names a missing GPU, or the file exists or cannot be written."},
                 {"2", "A flag is invalid, or the file is not named."}}},
      {.name = "level-zero",
       .help = "Run a Level Zero program with the tracker of its resources, and list, report, convert or remove what "
               "programs left: level-zero run|list|report|csv|clean|install. Without an action it prints their flags.",
       .run = level_zero,
       .exits = {{"0", "Done. level-zero run exits with the program's own status."},
                 {"1", "A file cannot be read or written, or --fail-on-leak found a leak."},
                 kInvalidFlag},
       .actions = level_zero_actions()},
      {.name = "trace",
       .help = "Record jobs of the GPUs, with the time each waited and ran, and report, draw or convert the recording: "
               "trace record|report|timeline|export. Without an action it prints their flags.",
       .run = trace,
       .exits = {{"0", "Done. trace record exits with the command's own status."},
                 {"1",
                  "No driver reports jobs, a permission is missing, a file cannot be read or written, or a trace is "
                  "damaged; what is whole is reported."},
                 {"2", "A flag is invalid, or the file is not a trace."}},
       .actions = trace_actions()},
      {.name = "flights",
       .help = "List what the flight recorder of a running exporter kept, or print one flight. It asks the exporter at "
               "URL (HOST, HOST:PORT or a whole URL), without one that of this host, or reads the folder of "
               "--flight.directory.",
       .operands = "[URL|DIR]",
       .most = 1,
       .run = flights,
       .shared = Command::Shared::address,
       .exits = {{"0", "Printed, also if there are none."},
                 {"1",
                  "The exporter does not answer, has no flight recorder or no such flight, or the output cannot be "
                  "written."},
                 {"2", "A flag or a URL is invalid."}}},
      {.name = "healthcheck",
       .help = "Check whether the exporter that serves with the same flags is ready. Exits 0 if it is, 1 otherwise.",
       .run = healthcheck,
       .shared = Command::Shared::address,
       .exits = {{"0", "It is ready."}, {"1", "It is not ready or does not answer."}, kInvalidFlag}},
#ifdef IGPU_STATIC
      {.name = "setup",
       .help = "Install this file as a service of this machine (systemd or OpenRC), with the rights that doctor asks "
               "for, and start it. Without such a service manager, print how to start it.",
       .run = setup_command,
       .exits = {{"0", "Done, or shown by --dry-run."},
                 {"1", "It is not root, a package is installed, or a step failed."},
                 kInvalidFlag}},
      {.name = "completion",
       .help = "Print the completion of a shell: bash, zsh or fish.",
       .operands = "SHELL",
       .least = 1,
       .most = 1,
       .missing = "which shell: bash, zsh or fish?",
       .run = completion},
      {.name = "man",
       .help = "Print the man page of the program or of a command: intel-gpu-exporter man top | man -l -",
       .operands = "[COMMAND]",
       .most = 1,
       .run = man},
#endif
      {.name = "help",
       .help = "Print this help, that of a command, or what the collectors read (help collectors).",
       .operands = "[COMMAND [ACTION]]",
       .most = 2},
      {.name = "version", .help = "Print version, revision and compiler."}};
}

}  // namespace

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = with_commands_of_system(commands_of_all_systems());
  return commands;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : all_commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace igpu::exporter
