// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "cli/options.h"
#include "igpu/monitor.h"
#include "platform/regular_file.h"
#include "view/chosen_gpus.h"
#include "view/format/csv_rows.h"
#include "view/report/gpu_summary.h"
#include "view/stats/stats_writer.h"
#include "view/workloads/rules_file.h"

namespace igpu::exporter {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Outcome = StatsOutput::Outcome;

std::string progress_text(std::uint64_t readings, SteadyClock::duration elapsed, std::optional<std::uint64_t> count) {
  std::string text = std::to_string(readings) + (readings == 1 ? " reading" : " readings");
  if (count) text += " of " + std::to_string(*count);
  return text + " in " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(elapsed).count()) + " s";
}

// The windows of the values are as long as the interval, unless the user chose otherwise. The machine's processors are
// shown beside its GPUs.
MonitorOptions stats_monitor_options(const Options& options, Log& log) {
  MonitorOptions monitor = with_workload_rules(options.monitor, log);
  for (const CollectorDescription& collector : describe_collectors()) {
    if (collector.for_commands && !monitor.disable_default_collectors)
      monitor.collectors.try_emplace(std::string(collector.name), true);
  }
  if (!stats_format(options.stats.format).keeps_window && !options.min_window_given)
    monitor.min_window = std::min(monitor.min_window, options.stats.interval);
  return monitor;
}

}  // namespace

StatsOutput::Outcome StatsOutput::write(std::string_view text) {
  if (file_.empty() || text.empty()) return write_stream(text);
  with_path(file_, [&] { NewFile(file_, mode_of_file()).finish(text, NewFile::Existing::is_replaced); });
  return Outcome::goes_on;
}

ProgressLine::~ProgressLine() { end(); }

void ProgressLine::show(std::string_view text) {
  if (!wanted_) return;
  const auto now = std::chrono::steady_clock::now();
  if (!on_terminal_ && now < next_) return;
  next_ = now + std::chrono::seconds(10);
  constexpr std::string_view kEraseToEnd = "\033[K";
  std::fprintf(stderr, "%s%.*s%s", on_terminal_ ? "\r" : "", static_cast<int>(text.size()), text.data(),
               on_terminal_ ? kEraseToEnd.data() : "\n");
  std::fflush(stderr);
  open_ = on_terminal_;
}

void ProgressLine::end() {
  if (open_) std::fputc('\n', stderr);
  open_ = false;
}

int stats(const Options& options) {
  const StatsOptions& wanted = options.stats;
  const bool streams = wanted.count != 1;
  StatsOutput output(streams, wanted.file);
  require_chosen_gpus(options);
  StderrLog log(std::max(options.log_level, LogLevel::error), options.log_format);
  const auto start = SteadyClock::now();
  const MonitorOptions monitored = stats_monitor_options(options, log);
  const Nanoseconds first_window = std::min<Nanoseconds>(monitored.min_window, std::chrono::seconds(1));
  Monitor monitor(monitored, log);
  const StatsFormat& format = stats_format(wanted.format);
  const StatsWriter writer = format.make(options, monitor.gpus());
  ProgressLine progress(streams && output.to_file());
  GaugeColumns columns;
  StatsSummary summary;
  Outcome outcome = Outcome::goes_on;
  auto previous = start;
  SteadyClock::time_point next;
  std::uint64_t readings = 0;
  bool shown = false;
  for (; outcome == Outcome::goes_on && (!wanted.count || readings < *wanted.count); ++readings) {
    if (readings > 0) {
      next = std::max(next + wanted.interval, SteadyClock::now());
      outcome = output.wait_until(next);
      if (outcome != Outcome::goes_on) break;
    }
    // When its collectors start to read; the first scrape waits for min_window.
    const auto now = std::max(SteadyClock::now(), readings == 0 ? start + first_window : start);
    const std::shared_ptr<const ScrapeResult> result = monitor.scrape({});
    if (readings == 0) next = now;
    const PageView page(result->lists());
    const Nanoseconds elapsed = now - std::exchange(previous, now);
    const std::vector<Gpu> gpus = format.lists_gpus ? monitor.gpus() : std::vector<Gpu>();
    if (!shown) shown = shows_devices(model_of(page));
    std::string out;
    writer.write({page, gpus, result->findings(), std::chrono::system_clock::now(), elapsed}, out);
    outcome = output.write(out);
    if (streams && wanted.summary) {
      columns.each(page, elapsed, [&](std::string_view device, const std::string& column, double value) {
        summary.add(device, column, value);
      });
    }
    progress.show(progress_text(readings + 1, now - start, wanted.count));
  }
  progress.end();
  if (outcome == Outcome::reader_gone) return EXIT_SUCCESS;  // it has what it wanted
  std::string out;
  writer.finish(out);
  (void)output.write(out);
  std::string notes = writer.note();
  if (wanted.summary && readings > 1) {
    const std::string table = summary.text();
    if (!table.empty()) notes += progress_text(readings, previous - start, {}) + "\n" + table;
  }
  if (!shown && wanted.format != "table") notes += no_gpu_line();
  (void)std::fputs(notes.c_str(), stderr);
  return shown ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace igpu::exporter
