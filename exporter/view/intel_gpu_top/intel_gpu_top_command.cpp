// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "cli/flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "igpu/displays.h"
#include "igpu/feature.h"
#include "igpu/monitor.h"
#include "igpu/unique_fd.h"
#include "platform/own_process.h"
#include "text/text.h"
#include "view/chosen_gpus.h"
#include "view/format/intel_gpu_top_output.h"
#include "view/intel_gpu_top/intel_gpu_top_arguments.h"
#include "view/query/query_output.h"
#include "view/stats/stats_writer.h"

namespace igpu::exporter {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;
using Outcome = StatsOutput::Outcome;
using Output = IntelGpuTopArguments::Output;

// Of the first record. The counters of a GPU advance in steps of about a millisecond.
constexpr Nanoseconds kFirstWindow = 20ms;
constexpr Nanoseconds kShortestPeriod = 1ms;
// A caller that has stopped reading for this long is not coming back.
constexpr std::chrono::seconds kLongestWait = 60s;

void complain(const std::string& lines) { (void)std::fputs(lines.c_str(), stderr); }

// Only what the records hold is read.
MonitorOptions monitor_options(const Options& options, const std::string& device) {
  MonitorOptions monitor = options.monitor;
  monitor.gpus = {device};
  monitor.min_window = kShortestPeriod;
  if (!monitor.disable_default_collectors) {
    monitor.disable_default_collectors = true;
    for (const std::string_view field : IntelGpuTopReader::fields())
      monitor.collectors.try_emplace(std::string(query::source_of(field)), true);
  }
  // For a run of a second, loading BPF programs costs more than they save.
  monitor.collector_options.try_emplace("collector.fdinfo.finder", std::vector<std::string>{"walk"});
  return monitor;
}

// What the records lack for want of a permission.
std::string note_on_missing(std::span<const Finding> findings) {
  std::string note;
  for (const Finding& finding : findings) {
    if (!is_missing(finding) || finding.absent.reason != Reason::permission) continue;
    std::string line = std::string(kIntelGpuTop) + ": " + clean_text(finding.cause);
    if (!finding.hint.empty()) line += "; " + clean_text(finding.hint);
    line += '\n';
    if (note.find(line) == std::string::npos) note += line;  // several features lack the same
  }
  return note;
}

// Callers that merge both streams parse what they get.
bool is_merged_with_output() {
  struct stat one {
  }, other{};
  return ::isatty(STDERR_FILENO) != 1 && ::fstat(STDERR_FILENO, &one) == 0 && ::fstat(STDOUT_FILENO, &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// Text of one of the forms.
class Records {
 public:
  Records(const std::string& device, const IntelGpuTopArguments& wanted, bool to_stdout)
      : reader_(device, wanted.layout),
        is_json_(wanted.output == Output::json),
        is_array_(is_json_ && !wanted.layout.older),
        brackets_apart_(is_array_ && !to_stdout),
        json_(is_array_ && to_stdout),
        text_(wanted.output == Output::csv ? IntelGpuTopText::Form::csv : IntelGpuTopText::Form::table,
              wanted.layout.older || (to_stdout && ::isatty(STDOUT_FILENO) == 1)) {}

  // With a file, the original's array has its brackets on standard output.
  void begin() const {
    if (brackets_apart_) (void)print(IntelGpuTopJson::kOpen);
  }
  std::string next(const ScrapeResult& result, Nanoseconds elapsed) {
    const IntelGpuTopRecord record = reader_.read(model_of(PageView(result.lists())), elapsed);
    std::string out;
    if (is_json_)
      json_.write(record, out);
    else
      text_.write(record, out);
    return out;
  }
  // Nothing is printed: what is counted from now on needs a first reading.
  void prepare(const ScrapeResult& result) { (void)reader_.read(model_of(PageView(result.lists())), 0ns); }
  std::string end() {
    std::string out;
    if (brackets_apart_)
      (void)print(IntelGpuTopJson::kClose);
    else if (is_json_)
      json_.finish(out);
    return out;
  }

 private:
  IntelGpuTopReader reader_;
  const bool is_json_, is_array_, brackets_apart_;
  IntelGpuTopJson json_;
  IntelGpuTopText text_;
};

int stream(const Options& options, const std::string& device, int descriptor) {
  const IntelGpuTopArguments& wanted = options.intel_gpu_top;
  const bool to_stdout = descriptor == STDOUT_FILENO;
  StatsOutput output({.descriptor = descriptor, .longest_wait = kLongestWait});
  StderrLog log(std::max(options.log_level, LogLevel::error), options.log_format);
  Records records(device, wanted, to_stdout);
  records.begin();
  Monitor monitor(monitor_options(options, device), log);

  const Nanoseconds period = std::max(wanted.period, kShortestPeriod);
  auto previous = SteadyClock::now() + kShortestPeriod;  // the first scrape waits for min_window
  std::shared_ptr<const ScrapeResult> result = monitor.scrape({});
  records.prepare(*result);
  if (!is_merged_with_output()) complain(note_on_missing(result->findings()));
  auto next = previous + std::min(period, kFirstWindow);
  Outcome outcome = Outcome::goes_on;
  for (std::uint64_t count = 0; wanted.records == 0 || count < wanted.records; ++count) {
    outcome = output.wait_until(next);
    if (outcome != Outcome::goes_on) break;
    const auto now = SteadyClock::now();
    result = monitor.scrape({});
    outcome = output.write(records.next(*result, now - std::exchange(previous, now)));
    if (outcome != Outcome::goes_on) break;
    next = count == 0 ? now + period : std::max(next + period, SteadyClock::now());
  }
  if (outcome != Outcome::reader_gone) outcome = output.write(records.end());
  if (outcome == Outcome::reader_gone) {
    // The status that a pipeline of the original has.
    (void)std::signal(SIGPIPE, SIG_DFL);
    (void)std::raise(SIGPIPE);
  }
  return EXIT_SUCCESS;
}

int show_top(Options options, const std::string& device) {
  options.monitor.gpus = {device};
  options.stats.interval = options.intel_gpu_top.period;
  options.operands.clear();
  return top_command(options);
}

}  // namespace

int intel_gpu_top(const Options& given) {
  Options options = given;
  IntelGpuTopArguments& wanted = options.intel_gpu_top;
  const std::string usage = help_text(*find_command(kIntelGpuTop));
  if (const std::string error = read_intel_gpu_top_arguments(options, std::getenv("IGT_LAYOUT")); !error.empty()) {
    complain(error);
    (void)print(usage);
    return EXIT_FAILURE;
  }
  if (wanted.help) return print(usage);
  const bool interactive = wanted.output == Output::none && !wanted.file && ::isatty(STDOUT_FILENO) == 1;
  UniqueFd file;
  if (wanted.file && *wanted.file != "-" && !wanted.list) {
    const CallersRights callers;
    file = UniqueFd(::open(wanted.file->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666));
    if (!file) {
      complain("Failed to open output file - '" + std::generic_category().message(errno) + "'!\n");
      return EXIT_FAILURE;
    }
  }
  std::vector<Gpu> gpus = all_gpus(options.monitor);
  const std::vector<std::string>& allowed = options.monitor.gpus;  // by the environment
  if (!wanted.filter && !wanted.list && !allowed.empty()) {
    std::erase_if(gpus, [&](const Gpu& gpu) {
      return std::ranges::none_of(allowed, [&](const std::string& name) { return has_name(gpu, name); });
    });
  }
  const std::vector<DrmDevice> devices = drm_devices(display_devices(options.monitor), gpus);
  if (wanted.list) return print(device_list(devices));
  ChosenDevice chosen = choose_device(devices, wanted.filter);
  if (chosen.device != nullptr && !chosen.device->kind)
    chosen = {nullptr,
              "Failed to detect engines! (No such file or directory)\n"
              "(Kernel 4.16 or newer is required for i915 PMU support.)\n"};
  if (chosen.device == nullptr) {
    complain(chosen.error);
    return EXIT_FAILURE;
  }
  if (interactive) return show_top(options, chosen.device->address);
  return stream(options, chosen.device->address, file ? file.get() : STDOUT_FILENO);
}

}  // namespace igpu::exporter
