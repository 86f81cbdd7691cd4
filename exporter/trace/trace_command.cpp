// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/output.h"
#include "platform/regular_file.h"
#include "text/unicode.h"
#include "trace/trace_arguments.h"
#include "trace/trace_file.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kLargestRecording = std::size_t{4} << 30;
constexpr std::size_t kRecordingHead = 1 << 16;  // enough to know a recording

TraceFile recorded_in(const std::string& path) {
  try {
    if (read_trace(RegularFile(path).first(kRecordingHead)))
      if (auto file = read_trace(read_regular_file(path, kLargestRecording))) return std::move(*file);
  } catch (const FileError& error) {
    const std::string text = "trace: " + path + ": " + error.what();
    if (error.error() == 0) throw UsageError(text);
    throw std::runtime_error(text);
  }
  throw UsageError("trace: " + path + " was not written by trace record (for a trace.dat use trace-cmd)");
}

std::string output_of(const TraceArguments& arguments, const TraceFile& file) {
  if (arguments.action == "timeline") return trace_summary(file) + timeline(file, arguments);
  if (arguments.action == "export") return jobs_csv(file);
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
  std::fprintf(stderr, "trace: %s%s\n", clean_text(path).c_str(), what.c_str());
  return EXIT_FAILURE;
}

}  // namespace

int trace(const Options& options) {
  const TraceArguments& arguments = options.trace;
  if (arguments.action == "record") return record_trace(arguments);
  const TraceFile file = recorded_in(arguments.file);
  const int status = print(output_of(arguments, file));
  return file.whole() ? status : damage(arguments.file, file);
}

}  // namespace igpu::exporter
