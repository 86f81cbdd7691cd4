// SPDX-License-Identifier: Apache-2.0
#include "cli/stats_writer.h"

#include <algorithm>

#include "cli/stats_table.h"
#include "cli/usage_error.h"
#include "format/csv_rows.h"
#include "format/influx_lines.h"
#include "format/intel_gpu_top_json.h"
#include "format/json_lines.h"
#include "report/fixes.h"
#include "self/build_info.h"

namespace igpu::exporter {
namespace {

// Printed once, with the first table.
std::string note_on_missing(std::span<const Finding> findings) {
  const auto missing = std::count_if(findings.begin(), findings.end(), is_missing);
  if (missing == 0) return {};
  const std::string what = missing == 1 ? "1 feature is" : std::to_string(missing) + " features are";
  return "\n" + what + " missing: `" + std::string(kProgramName) + " doctor` shows how to fix this.\n";
}

class TableWriter final : public StatsWriter {
 public:
  void write(const StatsReading& reading, std::string& out) override {
    if (!first_) out += '\n';
    out += reading.gpus.empty() ? "No Intel GPU bound to i915 or xe.\n" : stats_table(reading.page, reading.gpus);
    if (first_) out += note_on_missing(reading.findings);
    first_ = false;
  }

 private:
  bool first_ = true;
};

class JsonWriterOfStats final : public StatsWriter {
 public:
  explicit JsonWriterOfStats(JsonVersion version) : version_(version) {}
  void write(const StatsReading& reading, std::string& out) override {
    write_json_line(reading.page, reading.time, out, version_);
  }

 private:
  JsonVersion version_;
};

class CsvWriter final : public StatsWriter {
 public:
  void write(const StatsReading& reading, std::string& out) override {
    rows_.write(reading.page, reading.time, reading.elapsed, out);
  }
  std::string note() const override {
    const std::size_t count = rows_.columns_left_out();
    if (count == 0) return {};
    return std::to_string(count) + (count == 1 ? " column" : " columns") +
           " appeared after the header was written and had to be left out\n";
  }

 private:
  CsvRows rows_;
};

class InfluxWriter final : public StatsWriter {
 public:
  void write(const StatsReading& reading, std::string& out) override {
    write_influx_lines(reading.page, reading.time, out);
  }
};

class IntelGpuTopWriter final : public StatsWriter {
 public:
  explicit IntelGpuTopWriter(const std::string& device) : json_(device) {}
  void write(const StatsReading& reading, std::string& out) override {
    json_.write(reading.page, reading.elapsed, out);
  }
  void finish(std::string& out) override { json_.finish(out); }

 private:
  IntelGpuTopJson json_;
};

// As intel_gpu_top chooses: the first card, otherwise the first integrated GPU.
const Gpu& default_gpu(std::span<const Gpu> gpus) {
  const auto card =
      std::find_if(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.kind == GpuKind::discrete; });
  return card != gpus.end() ? *card : gpus.front();
}

}  // namespace

std::unique_ptr<StatsWriter> make_stats_writer(const Options& options, std::span<const Gpu> gpus) {
  switch (options.stats.format) {
    case StatsFormat::table:
      return std::make_unique<TableWriter>();
    case StatsFormat::json:
      return std::make_unique<JsonWriterOfStats>(options.stats.json_without_version ? JsonVersion::omitted
                                                                                    : JsonVersion::stated);
    case StatsFormat::csv:
      return std::make_unique<CsvWriter>();
    case StatsFormat::influx:
      return std::make_unique<InfluxWriter>();
    case StatsFormat::intel_gpu_top:
      break;
  }
  if (gpus.empty()) throw std::runtime_error("no Intel GPU is bound to i915 or xe");
  if (options.monitor.gpus.size() > 1 && gpus.size() > 1)
    throw UsageError(options.gpu_origin + ": --format intel_gpu_top shows one GPU; choose one", kUsageStatus);
  return std::make_unique<IntelGpuTopWriter>(default_gpu(gpus).address);
}

}  // namespace igpu::exporter
