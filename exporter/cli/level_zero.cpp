// SPDX-License-Identifier: Apache-2.0
#include "igpu/level_zero.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <system_error>

#include "cli/commands.h"
#include "cli/level_zero_arguments.h"
#include "cli/output.h"
#include "igpu/monitor.h"
#include "level_zero/call_lines.h"
#include "level_zero/report.h"
#include "level_zero/tracked_run.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kLargestLog = std::size_t{4} << 30;

void warn(const std::string& text) { std::fprintf(stderr, "level-zero: %s\n", terminal_safe(text).c_str()); }

// terminal_safe() also replaces line ends.
std::string terminal_safe_lines(const std::string& text) {
  std::string safe;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    safe += terminal_safe(text.substr(begin, end - begin)) + '\n';
    begin = end + 1;
  }
  return safe;
}

std::string folder_of(const LevelZeroArguments& arguments, const Options& options) {
  if (!arguments.folder.empty()) return arguments.folder;
  const auto given = options.monitor.collector_options.find("path.level-zero");
  if (given != options.monitor.collector_options.end()) return given->second.back();
  for (const CollectorDescription& collector : describe_collectors())
    for (const OptionDescriptor* const option : collector.options)
      if (option->flag() == "path.level-zero") return std::string(option->default_value());
  return {};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(path + ": " + std::generic_category().message(errno));
}

void write_report(const std::string& path, const ReportInput& input) {
  Symbols symbols;
  write_file(path, path.ends_with(".html") ? report_html(input, symbols) : report_text(input, symbols));
}

// Several processes may have logs: the one with most calls is shown.
void add_rows(ReportInput& input, Rows rows) {
  if (rows.rows.size() > input.rows.rows.size()) input.rows = std::move(rows);
}

int run(const LevelZeroArguments& arguments, const std::string& folder) {
  const ScratchSpace scratch;
  TrackedRun done = run_tracked(arguments, folder, scratch);
  for (const std::string& warning : done.warnings) warn(warning);
  ReportInput input;
  input.title = arguments.program.front();
  input.processes = std::move(done.processes);
  Symbols symbols;
  bool leaked = false;
  for (const LevelZeroProcess& process : input.processes) {
    leaked = leaked || (!process.alive && leaks(process));
    std::fputs(terminal_safe_lines(summary_text(process, symbols)).c_str(), stderr);
  }
  if (!arguments.report.empty()) {
    for (const std::string& log : done.logs)
      if (auto rows = read_log(read_whole(log, kLargestLog))) add_rows(input, std::move(*rows));
    write_report(arguments.report, input);
  }
  return done.status == 0 && leaked && arguments.fail_on_leak ? EXIT_FAILURE : done.status;
}

LevelZeroFolder read_folder(const std::string& path) {
  auto folder = read_level_zero_folder(path);
  if (folder) return std::move(*folder);
  throw std::runtime_error(path + ": " +
                           (folder.is_absent() ? std::generic_category().message(folder.absent().os_error)
                                               : folder.failure().code.message()));
}

int list_programs(const std::string& path) {
  const LevelZeroFolder folder = read_folder(path);
  std::string text = "PID      COMMAND          STATE    CALLS        ERRORS   LIVE       BYTES\n";
  for (const LevelZeroProcess& process : folder.processes) {
    std::uint64_t live = 0, bytes = 0;
    for (const LevelZeroKindUse& kind : process.kinds) {
      live += kind.live;
      bytes += kind.bytes;
    }
    text += padded(std::to_string(process.pid), 9) + padded(terminal_safe(process.comm), 17) +
            padded(process.alive    ? "running"
                   : process.exited ? "exited"
                                    : "killed",
                   9) +
            padded(std::to_string(process.calls), 13) + padded(std::to_string(process.errors), 9) +
            padded(std::to_string(live), 11) + std::to_string(bytes) + "\n";
  }
  if (folder.rejected != 0) text += std::to_string(folder.rejected) + " files rejected\n";
  return print(text);
}

// As they are read: a log may be long. Files of other kinds are only in the report.
void write_calls(const std::vector<std::string>& files) {
  bool found = false;
  for (const std::string& file : files) found = write_call_lines(read_whole(file, kLargestLog), std::cout) || found;
  if (!found) throw std::runtime_error("--calls needs a log of the tracker (level-zero run --log)");
  if (!std::cout.flush()) throw std::runtime_error("the calls cannot be written");
}

void add_file(ReportInput& input, const std::string& path) {
  std::ifstream csv(path);
  if (auto rows = read_csv(csv)) {
    add_rows(input, std::move(*rows));
    return;
  }
  const std::vector<std::byte> bytes = read_whole(path, kLargestLog);
  if (auto rows = read_log(bytes)) {
    add_rows(input, std::move(*rows));
  } else if (auto process = describe_level_zero_page(bytes)) {
    process->file = path;
    input.processes.push_back(std::move(*process));
  } else {
    throw std::runtime_error(path + ": neither a CSV of the System Resource Tracker, nor a log or page of the tracker");
  }
}

int report(const LevelZeroArguments& arguments) {
  if (arguments.calls) write_calls(arguments.files);
  ReportInput input;
  for (const std::string& path : arguments.files) {
    input.title += (input.title.empty() ? "" : ", ") + path;
    add_file(input, path);
  }
  Symbols symbols;
  if (!arguments.html.empty()) write_file(arguments.html, report_html(input, symbols));
  return print(terminal_safe_lines(report_text(input, symbols)));
}

int csv(const LevelZeroArguments& arguments) {
  const std::vector<std::byte> log = read_whole(arguments.files.front(), kLargestLog);
  std::ofstream file;
  if (arguments.files.size() == 2) file.open(arguments.files.back(), std::ios::binary);
  std::ostream& out = arguments.files.size() == 2 ? file : std::cout;
  if (!write_csv(log, out)) throw std::runtime_error(arguments.files.front() + ": not a log of the tracker");
  out.flush();
  if (!out) throw std::runtime_error("the CSV cannot be written");
  return EXIT_SUCCESS;
}

int clean(const std::string& path) {
  std::size_t removed = 0, kept = 0;
  for (const LevelZeroProcess& process : read_folder(path).processes) {
    if (process.alive) continue;
    ++(::unlink((path + "/" + process.file).c_str()) == 0 ? removed : kept);
  }
  std::string text = std::to_string(removed) + " pages of ended programs removed\n";
  if (kept != 0) text += std::to_string(kept) + " belong to other users\n";
  return print(text);
}

}  // namespace

int level_zero(const Options& options, const std::vector<std::string>& words) {
  const LevelZeroArguments arguments = parse_level_zero_arguments(words);
  if (arguments.action == "run") return run(arguments, folder_of(arguments, options));
  if (arguments.action == "list") return list_programs(folder_of(arguments, options));
  if (arguments.action == "report") return report(arguments);
  if (arguments.action == "csv") return csv(arguments);
  if (arguments.action == "clean") return clean(folder_of(arguments, options));
  if (arguments.action == "install") {
    install_tracker(arguments.files.front());
    return EXIT_SUCCESS;
  }
  return print(level_zero_help());
}

}  // namespace igpu::exporter
