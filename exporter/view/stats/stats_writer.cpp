// SPDX-License-Identifier: Apache-2.0
#include "view/stats/stats_writer.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>

#include "cli/usage_error.h"
#include "platform/build_info.h"
#include "view/format/csv_rows.h"
#include "view/format/intel_gpu_top_output.h"
#include "view/format/json_writer.h"
#include "view/format/text_writer.h"
#include "view/query/query_output.h"
#include "view/report/fixes.h"
#include "view/report/gpu_summary.h"

namespace igpu::exporter {
namespace {

// Printed once, with the first table.
std::string hint_on_missing(std::span<const Finding> findings) {
  const auto missing = std::ranges::count_if(findings, is_missing);
  if (missing == 0) return {};
  const std::string what = missing == 1 ? "1 feature is" : std::to_string(missing) + " features are";
  return "\n" + what + " missing: `" + std::string(kProgramName) + " doctor` shows how to fix this.\n";
}

StatsWriter write_table(const Options&, std::span<const Gpu>) {
  return {[first = true](const StatsReading& reading, std::string& out) mutable {
    if (!first) out += '\n';
    const std::string table = stats_table(reading.page, reading.gpus);
    out += table.empty() ? without_gpus(model_of(reading.page)) : table;
    if (first) out += hint_on_missing(reading.findings);
    first = false;
  }};
}

StatsWriter write_lines_of_json(const Options& options, std::span<const Gpu>) {
  return {[sysfs_root = options.monitor.sysfs_root](const StatsReading& reading, std::string& out) {
    JsonWriter json;
    json.begin_object();
    write_reading(json, reading.page, reading.time);
    if (!shows_devices(model_of(reading.page))) write_no_gpu(json, sysfs_root);
    out += json.end_object().take() + '\n';
  }};
}

StatsWriter write_csv(const Options&, std::span<const Gpu>) {
  const auto rows = std::make_shared<CsvRows>();
  return {.write = [rows](const StatsReading& reading,
                          std::string& out) { rows->write(reading.page, reading.time, reading.elapsed, out); },
          .note = [rows]() -> std::string {
            const std::size_t count = rows->columns_left_out();
            if (count == 0) return {};
            return std::to_string(count) + (count == 1 ? " column" : " columns") +
                   " appeared after the header was written and had to be left out\n";
          }};
}

// A format of what `query` knows of each GPU.
template <class Write>
StatsWriter write_rows(Write write) {
  return {[write = std::move(write)](const StatsReading& reading, std::string& out) {
    const HostModel host = model_of(reading.page);
    write(query::rows_of(host, reading.gpus, reading.time), out);
  }};
}

// As intel_gpu_top chooses: the first card, otherwise the first integrated GPU.
const Gpu& default_gpu(std::span<const Gpu> gpus) {
  const auto card = std::ranges::find(gpus, GpuKind::discrete, &Gpu::kind);
  return card != gpus.end() ? *card : gpus.front();
}

StatsWriter write_intel_gpu_top(const Options& options, std::span<const Gpu> gpus) {
  if (gpus.empty()) throw std::runtime_error(std::string(kNoGpu));
  if (options.monitor.gpus.size() > 1 && gpus.size() > 1)
    throw UsageError(options.gpu_origin + ": --format intel_gpu_top shows one GPU; choose one");
  const auto json = std::make_shared<IntelGpuTopJson>();
  IntelGpuTopReader reader(default_gpu(gpus).address);
  return {.write =
              [json, reader = std::move(reader)](const StatsReading& reading, std::string& out) mutable {
                json->write(reader.read(model_of(reading.page), reading.elapsed), out);
              },
          .finish = [json](std::string& out) { json->finish(out); }};
}

constexpr StatsFormat kFormats[] = {
    {.name = "table", .make = write_table, .lists_gpus = true, .keeps_window = true},
    {.name = "json", .make = write_lines_of_json},
    {.name = "csv", .make = write_csv, .alone = false},
    {.name = "prometheus",
     .make =
         [](const Options&, std::span<const Gpu>) {
           return StatsWriter{
               [](const StatsReading& reading, std::string& out) { write_prometheus_text(reading.page, out); }};
         }},
    {.name = "intel_gpu_top", .make = write_intel_gpu_top, .alone = false},
    {.name = "nvtop",
     .make = [](const Options&, std::span<const Gpu>) { return write_rows(query::write_nvtop); },
     .lists_gpus = true},
    {.name = "waybar",
     .make = [](const Options&, std::span<const Gpu>) { return write_rows(query::write_waybar); },
     .lists_gpus = true},
    {.name = "template",
     .make =
         [](const Options& options, std::span<const Gpu>) {
           return write_rows([text = query::Template(options.stats.text)](std::span<const query::Row> rows,
                                                                          std::string& out) { text.write(rows, out); });
         },
     .lists_gpus = true,
     .for_flag = false},
};

}  // namespace

std::span<const StatsFormat> stats_formats() { return kFormats; }

const StatsFormat& stats_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &StatsFormat::name);
  if (found == std::end(kFormats)) throw std::logic_error("no format " + std::string(name));
  return *found;
}

std::string stats_format_names() {
  std::string names;
  for (const StatsFormat& format : kFormats)
    if (format.for_flag) names.append(names.empty() ? "" : "|").append(format.name);
  return names;
}

}  // namespace igpu::exporter
