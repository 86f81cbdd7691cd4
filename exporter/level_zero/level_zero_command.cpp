// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ext/stdio_filebuf.h>
#include <functional>
#include <iostream>
#include <span>
#include <stdexcept>
#include <system_error>

#include "cli/options.h"
#include "cli/output.h"
#include "igpu/level_zero.h"
#include "igpu/monitor.h"
#include "level_zero/report.h"
#include "platform/regular_file.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kLargestLog = std::size_t{4} << 30;
constexpr std::size_t kMostInMemory = std::size_t{1} << 30;  // of a log or CSV of which every call is kept
constexpr std::size_t kLogHead = 4096;                       // longer than a log's header and a CSV's first line

void warn(const std::string& text) { std::fprintf(stderr, "level-zero: %s\n", clean_text(text).c_str()); }

void flush_output() {
  if (!std::cout.flush())
    throw std::runtime_error("standard output cannot be written: " + std::generic_category().message(errno));
}

std::string folder_of(const Options& options) {
  const auto given = options.monitor.collector_options.find("path.level-zero");
  if (given != options.monitor.collector_options.end()) return given->second.back();
  for (const CollectorDescription& collector : describe_collectors())
    for (const OptionDescriptor* const option : collector.options)
      if (option->flag() == "path.level-zero") return std::string(option->default_value());
  return {};
}

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  UniqueFd file = with_path(path, [&] { return open_to_write(path); });
  (void)!::ftruncate(file.get(), 0);                                                        // not for a device
  __gnu_cxx::stdio_filebuf<char> buffer(file.release(), std::ios::out | std::ios::binary);  // closes it
  std::ostream out(&buffer);
  write(out);
  if (!out.flush()) throw std::runtime_error(path + ": " + std::generic_category().message(errno));
}

void write_file(const std::string& path, const std::string& text) {
  write_file(path, [&](std::ostream& out) { out << text; });
}

// A log, a CSV or a page; kept, because what is read from it points into it.
std::string contents(const std::string& path, std::size_t most) {
  return with_path(path, [&] { return read_regular_file(path, most); });
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Whether it begins as a log or a CSV does: these may be large.
bool is_record_of_calls(const std::string& path) {
  const std::string head = with_path(path, [&] { return RegularFile(path).first(kLogHead); });
  return is_csv(head) || LevelZeroLogReader::open(bytes_of(head));
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
    std::fputs(summary_text(process, symbols).c_str(), stderr);
  }
  if (!arguments.report.empty()) {
    for (const std::string& log : done.logs)
      if (auto rows = read_log(bytes_of(contents(log, kMostInMemory)))) add_rows(input, std::move(*rows));
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
    text += padded(std::to_string(process.pid), 9) + padded(clean_text(process.comm), 17) +
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
  for (const std::string& file : files)
    if (is_record_of_calls(file)) found = write_call_lines(bytes_of(contents(file, kLargestLog)), std::cout) || found;
  if (!found) throw std::runtime_error("--calls needs a log of the tracker (level-zero run --log)");
  flush_output();
}

void add_file(ReportInput& input, const std::string& path) {
  const std::string text = contents(path, is_record_of_calls(path) ? kMostInMemory : kLargestPage);
  if (auto csv = read_csv(text)) {
    add_rows(input, std::move(*csv));
  } else if (auto log = read_log(bytes_of(text))) {
    add_rows(input, std::move(*log));
  } else if (auto process = describe_level_zero_page(bytes_of(text))) {
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
  return print(report_text(input, symbols));
}

int csv(const LevelZeroArguments& arguments) {
  const std::string& path = arguments.files.front();
  const std::string log = is_record_of_calls(path) ? contents(path, kLargestLog) : std::string();
  if (!LevelZeroLogReader::open(bytes_of(log))) throw std::runtime_error(path + ": not a log of the tracker");
  if (arguments.files.size() == 2) {
    write_file(arguments.files.back(), [&](std::ostream& out) { write_csv(bytes_of(log), out); });
  } else {
    write_csv(bytes_of(log), std::cout);
    flush_output();
  }
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

int level_zero(const Options& options) {
  const LevelZeroArguments& arguments = options.level_zero;
  if (arguments.action == "run") return run(arguments, folder_of(options));
  if (arguments.action == "list") return list_programs(folder_of(options));
  if (arguments.action == "report") return report(arguments);
  if (arguments.action == "csv") return csv(arguments);
  if (arguments.action == "clean") return clean(folder_of(options));
  install_tracker(arguments.files.front());
  return EXIT_SUCCESS;
}

}  // namespace igpu::exporter
