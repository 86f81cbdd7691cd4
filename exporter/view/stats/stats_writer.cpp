// SPDX-License-Identifier: Apache-2.0
#include "view/stats/stats_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "cli/output.h"
#include "platform/own_process.h"
#include "text/text.h"
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

constexpr std::size_t kTitleWidth = 14;
constexpr std::size_t kRowIndent = 2 + kTitleWidth;
constexpr std::size_t kNameWidth = 30;
constexpr std::size_t kPidWidth = 8;
constexpr std::size_t kCommWidth = 16;  // one more than the longest process name
constexpr std::size_t kMemoryWidth = 12;
constexpr std::size_t kMaxProcesses = 10;

// The title is printed on the first row of a section only.
std::string row_start(std::string_view title, bool first) {
  return "  " + padded(first ? title : std::string_view(), kTitleWidth);
}

void add_section(std::string& out, const SummarySection& section) {
  bool first = true;
  for (const SummaryRow& row : section.rows) {
    out += row_start(section.title, std::exchange(first, false));
    if (row.value.empty()) {
      append_wrapped(out, clean_text(row.name), kRowIndent);
    } else {
      out += padded(clean_text(row.name), kNameWidth) + clean_text(row.value);
    }
    out += '\n';
  }
}

void add_processes(std::string& out, const std::vector<SummaryProcess>& processes) {
  const std::size_t shown = std::min(processes.size(), kMaxProcesses);
  for (std::size_t i = 0; i < shown; ++i) {
    const SummaryProcess& process = processes[i];
    out += row_start("processes", i == 0) + padded(process.pid, kPidWidth) +
           padded(clean_text(process.comm), kCommWidth) + padded(human_bytes(process.resident_bytes), kMemoryWidth);
    append_wrapped(out, process.classes, kRowIndent + kPidWidth + kCommWidth + kMemoryWidth);
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
  if (processes.size() > shown) {
    out += row_start("", false) + "and " + std::to_string(processes.size() - shown) + " more\n";
  }
}

constexpr double kBucketWidth = 1.01;

// Values of one sign are told apart by the integer part of their logarithm, so a bucket's width is 1 % of its values.
double middle_of_bucket(double value) {
  if (value == 0) return 0;
  const double bucket = std::floor(std::log(std::abs(value)) / std::log(kBucketWidth));
  return std::copysign(std::pow(kBucketWidth, bucket + 0.5), value);
}

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

std::string stats_table(const PageView& view, std::span<const Gpu> gpus) {
  std::string out;
  const HostModel host = model_of(view);
  for (const Gpu& gpu : gpus) {
    const GpuModel* const model = host.gpu(gpu.address);
    const GpuSummary summary = model != nullptr ? summarize(*model) : GpuSummary();
    if (!out.empty()) out += '\n';
    out += gpu.address + "  ";
    append_wrapped(out,
                   (gpu.name.empty() ? "(unknown name)" : clean_text(gpu.name)) + " (" + to_string(gpu.kind) + ", " +
                       to_string(gpu.driver) + (gpu.virtual_function ? ", virtual function)" : ")"),
                   2);
    out += '\n';
    if (summary.suspended) out += "  asleep; values appear when a program wakes it\n";
    for (const SummarySection& section : summary.sections) add_section(out, section);
    add_processes(out, summary.processes);
  }
  for (const snapshot::Npu& npu : host.npus) {
    if (!out.empty()) out += '\n';
    out += clean_text(npu.address) + "  ";
    append_wrapped(out, clean_text(name_of(npu)) + " (NPU, intel_vpu)", 2);
    out += '\n';
    if (npu.suspended.value_or(false)) out += "  asleep; values appear when a program wakes it\n";
    for (const SummarySection& section : sections_of(npu)) add_section(out, section);
  }
  return out;
}

void Distribution::add(double value) {
  if (!std::isfinite(value)) return;
  if (count_++ == 0) minimum_ = maximum_ = value;
  minimum_ = std::min(minimum_, value);
  maximum_ = std::max(maximum_, value);
  sum_ += value;
  ++buckets_[middle_of_bucket(value)];
}

double Distribution::percentile(double share) const {
  if (count_ == 0) return 0;
  // Nearest rank: the smallest value that at least this share of all values does not exceed.
  auto left = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  for (const auto& [middle, values] : buckets_) {
    if (left <= values) return std::clamp(middle, minimum_, maximum_);
    left -= values;
  }
  return maximum_;
}

void StatsSummary::add(std::string_view device, const std::string& column, double value) {
  auto known = devices_.find(device);
  if (known == devices_.end()) known = devices_.emplace(device, Columns()).first;
  Columns& columns = known->second;
  auto known_column = std::ranges::find(columns, column, &Columns::value_type::first);
  if (known_column == columns.end()) known_column = columns.insert(columns.end(), {column, Distribution()});
  known_column->second.add(value);
}

std::string StatsSummary::text() const {
  std::string out;
  char line[128];
  for (const auto& [device, columns] : devices_) {
    if (!out.empty()) out += '\n';
    std::snprintf(line, sizeof line, "%11s %11s %11s %11s  ", "min", "mean", "max", "p95");
    out += line + clean_text(device) + '\n';
    for (const auto& [column, values] : columns) {
      std::snprintf(line, sizeof line, "%11.5g %11.5g %11.5g %11.5g  ", values.minimum(), values.mean(),
                    values.maximum(), values.percentile(0.95));
      out += line + clean_text(column) + '\n';
    }
  }
  return out;
}

}  // namespace igpu::exporter
