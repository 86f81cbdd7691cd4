// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/usage_error.h"
#include "trace/arguments.h"
#include "trace/recording.h"
#include "trace/report.h"
#include "trace/trace_file.h"

namespace igpu::exporter {
namespace {

constexpr std::uintmax_t kLargestFile = std::uintmax_t{4} << 30;

std::string contents(const std::string& path) {
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(path, error);
  if (error) throw std::runtime_error("trace: " + path + ": " + error.message());
  if (!regular) throw UsageError("trace: " + path + " is not a regular file", kUsageStatus);
  const auto size = std::filesystem::file_size(path, error);
  if (error || size > kLargestFile) throw std::runtime_error("trace: " + path + ": larger than 4 GiB");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("trace: " + path + ": " + std::generic_category().message(errno));
  std::string bytes(static_cast<std::size_t>(size), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

std::string output_of(const TraceArguments& arguments, const TraceFile& file) {
  if (arguments.action == "timeline") return trace_summary(file) + timeline(file, arguments);
  if (arguments.action == "export") {
    if (arguments.format == "csv") return jobs_csv(file, arguments.clock_offset_ns);
    return arguments.format == "chrome" ? chrome_trace(file, arguments.clock_offset_ns)
                                        : perfetto_trace(file, arguments.clock_offset_ns);
  }
  if (arguments.jobs_csv) return jobs_csv(file);
  std::string text;
  if (arguments.top != 0) text += top_jobs(file, arguments.top);
  if (arguments.histogram != TraceArguments::Histogram::none) text += job_histogram(file, arguments.histogram);
  if (!arguments.by.empty()) text += jobs_by(file, arguments.by);
  return text.empty() ? trace_overview(file) : trace_summary(file) + "\n" + text;
}

// After what was whole.
int damage(const std::string& path, const TraceFile& file) {
  std::string what;
  if (file.cut_off_at)
    what = " ends inside a packet at byte " + std::to_string(*file.cut_off_at);
  else if (file.damaged_at)
    what = " is damaged at byte " + std::to_string(*file.damaged_at) + ": " + std::to_string(file.damaged) +
           " packets left out";
  std::fprintf(stderr, "trace: %s%s\n", terminal_safe(path).c_str(), what.c_str());
  return EXIT_FAILURE;
}

}  // namespace

int trace(const Options&, const std::vector<std::string>& words) {
  const TraceArguments arguments = parse_trace_arguments(words);
  if (arguments.action.empty()) return print(trace_help());
  if (arguments.action == "record") return record_trace(arguments);
  const auto file = read_trace(contents(arguments.file));
  if (!file)
    throw UsageError("trace: " + arguments.file + " was not written by trace record (for a trace.dat use trace-cmd)",
                     kUsageStatus);
  const int status = print(output_of(arguments, *file));
  return file->whole() ? status : damage(arguments.file, *file);
}

}  // namespace igpu::exporter
