// SPDX-License-Identifier: Apache-2.0
#include "view/format/csv_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "igpu/model.h"
#include "igpu/words.h"
#include "text/text.h"
#include "view/format/text_writer.h"

namespace igpu::exporter {

void append_csv_cell(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

void CsvRows::write(const PageView& page, std::chrono::system_clock::time_point time, Nanoseconds elapsed,
                    std::string& out) {
  struct Value {
    std::string column;
    double value;
  };
  std::map<std::string, std::vector<Value>, std::less<>> devices;
  gauges_.each(page, elapsed, [&](std::string_view device, const std::string& column, double value) {
    devices[std::string(device)].push_back({column, value});
  });
  if (devices.empty()) return;
  if (columns_.empty()) {
    for (const auto& [device, values] : devices) {
      for (const Value& value : values) {
        if (index_.emplace(value.column, columns_.size()).second) columns_.push_back(value.column);
      }
    }
    out += "time,device";
    for (const std::string& column : columns_) {
      out += ',';
      append_csv_cell(out, column);
    }
    out += '\n';
  }
  const std::string now = time_text(time);
  for (const auto& [device, values] : devices) {
    std::vector<std::optional<double>> row(columns_.size());
    for (const Value& value : values) {
      const auto at = index_.find(value.column);
      if (at == index_.end()) {
        left_out_.insert(value.column);
      } else {
        row[at->second] = value.value;
      }
    }
    out += now + ',';
    append_csv_cell(out, device);
    for (const std::optional<double>& value : row) {
      out += ',';
      if (value) append_number(out, *value);
    }
    out += '\n';
  }
}

namespace {

// Counters without a gauge beside them, by their fields.
constexpr std::array<std::string_view, 2> kRates{"gpu.interrupts", "bandwidth.total"};

std::string_view label(const MetricDescriptor& metric, const PageView::Entry& entry, std::string_view name) {
  for (std::size_t i = 0; i < metric.label_count; ++i)
    if (metric.label_names[i] == name) return entry.list->label_value(*entry.sample, i);
  return {};
}

// intel_gpu_interrupts_total -> intel_gpu_interrupts_per_second
std::string rate_name(std::string_view counter) {
  return std::string(counter.substr(0, counter.rfind("_total"))) + "_per_second";
}

std::string column_of(std::string column, const MetricDescriptor& metric, const PageView::Entry& entry) {
  std::string labels;
  for (std::size_t i = 0; i < metric.label_count; ++i) {
    const std::string_view name = metric.label_names[i], value = entry.list->label_value(*entry.sample, i);
    if (name == "device" || value.empty()) continue;
    labels += (labels.empty() ? "" : " ") + std::string(name) + '=' + std::string(value);
  }
  return labels.empty() ? column : column + '{' + labels + '}';
}

bool has_label(const MetricDescriptor& metric, std::string_view name) { return contains(metric.label_names, name); }

bool is_gauge_of_gpu(const MetricDescriptor& metric) {
  return metric.kind == Kind::gauge && has_label(metric, "device") && !has_label(metric, "pid") &&
         !has_label(metric, "workload") && !metric.name.starts_with("intel_gpu_exporter_");
}

void each_class(const PageView& page, std::string_view metric, const GaugeColumns::Use& use) {
  for (const GpuModel& gpu : model_of(page).gpus) {
    if (!gpu.engine_classes) continue;
    for (const snapshot::EngineClassLoad& load : *gpu.engine_classes)
      if (load.busy)
        use(gpu.gpu.address, std::string(metric) + "{class=" + std::string(to_string(load.engine_class)) + '}',
            load.busy->value);
  }
}

}  // namespace

void GaugeColumns::each(const PageView& page, Nanoseconds elapsed, const Use& use) {
  const double seconds = to_seconds(elapsed).value;
  for (const PageView::Family& family : page.families()) {
    const MetricDescriptor& metric = *family.metric;
    const bool is_rate =
        std::ranges::any_of(kRates, [&](std::string_view field) { return metric_of(field) == metric.name; });
    if (!is_rate && !is_gauge_of_gpu(metric)) continue;
    if (metric.name == metric_of("engine.busy")) each_class(page, metric.name, use);
    for (const PageView::Entry& entry : family.entries) {
      const std::string_view device = label(metric, entry, "device");
      const double value = entry.sample->value;
      if (device.empty() || !std::isfinite(value)) continue;
      if (!is_rate) {  // engine time by class is shown above
        if (label(metric, entry, "source") != "fdinfo")
          use(device, column_of(std::string(metric.name), metric, entry), value);
        continue;
      }
      const std::string column = column_of(rate_name(metric.name), metric, entry);
      double& before = counts_[std::string(device) + ' ' + column];
      const double gain = value - before;
      before = value;
      if (gain >= 0 && seconds > 0) use(device, column, gain / seconds);
    }
  }
}

}  // namespace igpu::exporter
