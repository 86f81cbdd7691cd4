// SPDX-License-Identifier: Apache-2.0
#include "view/stats/stats_writer.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "cli/usage_error.h"
#include "platform/build_info.h"
#include "view/format/csv_rows.h"
#include "view/format/intel_gpu_top_output.h"
#include "view/format/json_lines.h"
#include "view/format/text_writer.h"
#include "view/query/query_output.h"
#include "view/report/fixes.h"
#include "view/report/no_gpu.h"

namespace igpu::exporter {
namespace {

// Printed once, with the first table.
std::string hint_on_missing(std::span<const Finding> findings) {
  const auto missing = std::ranges::count_if(findings, is_missing);
  if (missing == 0) return {};
  const std::string what = missing == 1 ? "1 feature is" : std::to_string(missing) + " features are";
  return "\n" + what + " missing: `" + std::string(kProgramName) + " doctor` shows how to fix this.\n";
}

class TableWriter final : public StatsWriter {
 public:
  void write(const StatsReading& reading, std::string& out) override {
    if (!first_) out += '\n';
    const std::string table = stats_table(reading.page, reading.gpus);
    out += table.empty() ? without_gpus(model_of(reading.page)) : table;
    if (first_) out += hint_on_missing(reading.findings);
    first_ = false;
  }

 private:
  bool first_ = true;
};

// A format without a memory.
template <auto Write>
class PlainWriter final : public StatsWriter {
 public:
  void write(const StatsReading& reading, std::string& out) override { Write(reading, out); }
};

// A format of what `query` knows of each GPU.
template <auto Write>
void write_rows(const StatsReading& reading, std::string& out) {
  const HostModel host = model_of(reading.page);
  Write(query::rows_of(host, reading.gpus, reading.time), out);
}

class TemplateWriter final : public StatsWriter {
 public:
  explicit TemplateWriter(const std::string& text) : template_(text) {}
  void write(const StatsReading& reading, std::string& out) override {
    const HostModel host = model_of(reading.page);
    template_.write(query::rows_of(host, reading.gpus, reading.time), out);
  }

 private:
  query::Template template_;
};

class JsonLineWriter final : public StatsWriter {
 public:
  explicit JsonLineWriter(const std::string& sysfs_root) : sysfs_root_(sysfs_root) {}
  void write(const StatsReading& reading, std::string& out) override {
    write_json_line(reading.page, reading.time, out);
    if (shows_devices(model_of(reading.page))) return;
    JsonWriter json;
    json.begin_object();
    write_no_gpu(json, sysfs_root_);
    out.replace(out.size() - 2, 2, "," + json.end_object().take().substr(1) + '\n');  // a last member
  }

 private:
  const std::string sysfs_root_;
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

class IntelGpuTopWriter final : public StatsWriter {
 public:
  explicit IntelGpuTopWriter(const std::string& device) : reader_(device) {}
  void write(const StatsReading& reading, std::string& out) override {
    json_.write(reader_.read(model_of(reading.page), reading.elapsed), out);
  }
  void finish(std::string& out) override { json_.finish(out); }

 private:
  IntelGpuTopReader reader_;
  IntelGpuTopJson json_;
};

// As intel_gpu_top chooses: the first card, otherwise the first integrated GPU.
const Gpu& default_gpu(std::span<const Gpu> gpus) {
  const auto card = std::ranges::find(gpus, GpuKind::discrete, &Gpu::kind);
  return card != gpus.end() ? *card : gpus.front();
}

std::unique_ptr<StatsWriter> make_intel_gpu_top(const Options& options, std::span<const Gpu> gpus) {
  if (gpus.empty()) throw std::runtime_error(std::string(kNoGpu));
  if (options.monitor.gpus.size() > 1 && gpus.size() > 1)
    throw UsageError(options.gpu_origin + ": --format intel_gpu_top shows one GPU; choose one");
  return std::make_unique<IntelGpuTopWriter>(default_gpu(gpus).address);
}

template <class Writer>
std::unique_ptr<StatsWriter> make(const Options&, std::span<const Gpu>) {
  return std::make_unique<Writer>();
}
template <auto Write>
constexpr auto kPlain = &make<PlainWriter<Write>>;

constexpr StatsFormat kFormats[] = {
    {.name = "table", .make = make<TableWriter>, .lists_gpus = true, .keeps_window = true},
    {.name = "json",
     .make = [](const Options& options, std::span<const Gpu>) -> std::unique_ptr<StatsWriter> {
       return std::make_unique<JsonLineWriter>(options.monitor.sysfs_root);
     }},
    {.name = "csv", .make = make<CsvWriter>, .alone = false},
    {.name = "prometheus",
     .make = kPlain<[](const StatsReading& reading, std::string& out) { write_prometheus_text(reading.page, out); }>},
    {.name = "intel_gpu_top", .make = make_intel_gpu_top, .alone = false},
    {.name = "nvtop", .make = kPlain<write_rows<query::write_nvtop>>, .lists_gpus = true},
    {.name = "waybar", .make = kPlain<write_rows<query::write_waybar>>, .lists_gpus = true},
    {.name = "template",
     .make = [](const Options& options, std::span<const Gpu>) -> std::unique_ptr<StatsWriter> {
       return std::make_unique<TemplateWriter>(options.stats.text);
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
