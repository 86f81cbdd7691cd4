// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "cli/options.h"
#include "cli/output.h"
#include "igpu/monitor.h"
#include "platform/regular_file.h"
#include "view/chosen_gpus.h"
#include "view/query/query_output.h"
#include "view/report/gpu_summary.h"
#include "view/stats/stats_writer.h"
#include "view/workloads/rules_file.h"

namespace igpu::exporter {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr Nanoseconds kReadingWindow = 200ms;  // of one reading, as in xpu-smi

// Prints the readings of --fields or --query-gpu.
class Printer {
 public:
  explicit Printer(const QueryOptions& wanted) : wanted_(wanted), style_{wanted.header, wanted.units} {
    for (const std::string& name : wanted.fields) fields_.push_back(query::required_field(name));
    if (wanted.xpu_fields) xpu_fields_ = query::xpu_fields(*wanted.xpu_fields);
  }
  void header(std::string& out) const {
    if (wanted_.xpu_fields)
      query::write_xpu_header(xpu_fields_, style_, out);
    else if (!wanted_.fields.empty() && !wanted_.json)
      query::write_csv_header(fields_, style_, out);
  }
  void rows(const HostModel& host, std::span<const query::Row> rows, std::string& out) const {
    if (wanted_.xpu_fields)
      query::write_xpu_csv(xpu_fields_, rows, out);
    else if (wanted_.fields.empty())
      out += rows.empty() ? nothing_to_show(host) : query::quick_table(rows, width_);
    else if (wanted_.json)
      query::write_json(fields_, rows, out);
    else
      query::write_csv(fields_, style_, rows, out);
  }

 private:
  const QueryOptions& wanted_;
  const int width_ = columns_of_output();
  query::CsvStyle style_;
  query::Fields fields_;
  std::vector<const query::XpuField*> xpu_fields_;
};

MonitorOptions query_monitor_options(const Options& options, Log& log) {
  MonitorOptions monitor = with_workload_rules(options.monitor, log);
  if (!options.min_window_given)
    monitor.min_window = std::min(kReadingWindow, options.query.loop.value_or(kReadingWindow));
  return monitor;
}

// A GPU that goes away while it is watched is only missing in the output.
void keep_chosen(std::vector<query::Row>& rows, const std::vector<std::string>& ids, bool first) {
  if (ids.empty()) return;
  const auto is = [](const query::Row& row, const std::string& id) {
    return id == std::to_string(row.index) || id == row.gpu.address;
  };
  for (const std::string& id : ids)
    if (first && std::ranges::none_of(rows, [&](const query::Row& row) { return is(row, id); }))
      throw std::runtime_error("--id: there is no Intel GPU \"" + id + "\" (see query)");
  std::vector<query::Row> chosen;
  for (const query::Row& row : rows)
    if (std::ranges::any_of(ids, [&](const std::string& id) { return is(row, id); })) chosen.push_back(row);
  rows.swap(chosen);
}

void write_to(const std::string& path) {
  with_path(path, [&] {
    const UniqueFd file = open_to_write(path);
    if ((::ftruncate(file.get(), 0) != 0 && errno != EINVAL) || ::dup2(file.get(), STDOUT_FILENO) < 0)
      throw FileError(std::generic_category().message(errno), errno);
  });
}

}  // namespace

int query_command(const Options& options) {
  const QueryOptions& wanted = options.query;
  const auto open_file = [&] {  // once nothing is left that could be refused
    if (!wanted.file.empty()) write_to(wanted.file);
  };
  if (wanted.xpu_fields && wanted.xpu_fields->empty()) {
    open_file();
    return print(query::xpu_field_list());
  }
  const Printer printer(wanted);
  StatsOutput output(wanted.loop.has_value());
  require_chosen_gpus(options);
  StderrLog log(std::max(options.log_level, LogLevel::error), options.log_format);
  Monitor monitor(query_monitor_options(options, log), log);
  std::string out, nothing;
  bool shown = false;
  printer.header(out);
  const std::uint64_t count = wanted.list ? 1 : wanted.count ? *wanted.count : wanted.loop ? ~std::uint64_t{0} : 1;
  SteadyClock::time_point next = SteadyClock::now();
  for (std::uint64_t readings = 0; readings < count; ++readings) {
    if (readings > 0) {
      next = std::max(next + wanted.loop.value_or(1s), SteadyClock::now());
      if (output.wait_until(next) != StatsOutput::Outcome::goes_on) break;
    }
    const std::shared_ptr<const ScrapeResult> result = monitor.scrape({});
    if (readings == 0) next = SteadyClock::now();
    const HostModel host = model_of(PageView(result->lists()));
    const std::vector<Gpu> gpus = monitor.gpus();
    std::vector<query::Row> rows = query::rows_of(host, gpus, std::chrono::system_clock::now());
    keep_chosen(rows, wanted.ids, readings == 0);
    if (readings == 0) open_file();
    if (wanted.list)
      out +=
          wanted.json ? query::field_list_json(rows, result->findings()) : query::field_list(rows, result->findings());
    else
      printer.rows(host, rows, out);
    shown = shown || !rows.empty();
    nothing = nothing_to_show(host);
    if (output.write(out) != StatsOutput::Outcome::goes_on) break;
    out.clear();
  }
  if (shown) return EXIT_SUCCESS;
  if (wanted.list || !wanted.fields.empty() || wanted.xpu_fields) (void)std::fputs(nothing.c_str(), stderr);
  return EXIT_FAILURE;
}

}  // namespace igpu::exporter
