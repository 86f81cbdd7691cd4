// SPDX-License-Identifier: Apache-2.0
#include "format/gauge_columns.h"

#include <array>
#include <chrono>
#include <cmath>
#include <set>

#include "format/class_busy.h"
#include "format/device_series.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kEngineBusy = "intel_gpu_engine_busy_ratio";

struct Rate {
  std::string_view counter, column;
};
constexpr std::array<Rate, 2> kRates{
    {{"intel_gpu_interrupts_total", "intel_gpu_interrupts_per_second"},
     {"intel_gpu_memory_bandwidth_bytes_total", "intel_gpu_memory_bandwidth_bytes_per_second"}}};

std::string column_of(std::string_view name, const Series& series) {
  std::string column(name);
  std::string labels;
  for (std::size_t i = 0; i < series.metric->label_count; ++i) {
    const std::string_view label = series.metric->label_names[i];
    const std::string_view value = series.entry.list->label_value(*series.entry.sample, i);
    if (label == "device" || value.empty()) continue;
    labels += (labels.empty() ? "" : " ") + std::string(label) + '=' + std::string(value);
  }
  return labels.empty() ? column : column + '{' + labels + '}';
}

bool has_label(const MetricDescriptor& metric, std::string_view name) {
  for (std::size_t i = 0; i < metric.label_count; ++i) {
    if (metric.label_names[i] == name) return true;
  }
  return false;
}

bool is_gauge_of_gpu(const MetricDescriptor& metric) {
  return metric.kind == Kind::gauge && has_label(metric, "device") && !has_label(metric, "pid") &&
         !has_label(metric, "workload") && !metric.name.starts_with("intel_gpu_exporter_");
}

void each_class(const PageView& page, const PageView::Family& family, const GaugeColumns::Use& use) {
  std::set<std::string_view> devices;
  for (const PageView::Entry& entry : family.entries) devices.insert(Series{family.metric, entry}.label("device"));
  for (const std::string_view device : devices) {
    for (const auto& [name, ratio] : class_busy(DeviceSeries(page, device)))
      use(device, std::string(kEngineBusy) + "{class=" + std::string(name) + '}', ratio);
  }
}

}  // namespace

void GaugeColumns::each(const PageView& page, Nanoseconds elapsed, const Use& use) {
  const double seconds = std::chrono::duration<double>(elapsed).count();
  for (const PageView::Family& family : page.families()) {
    const MetricDescriptor& metric = *family.metric;
    const Rate* rate = nullptr;
    for (const Rate& known : kRates) {
      if (metric.name == known.counter) rate = &known;
    }
    if (rate == nullptr && !is_gauge_of_gpu(metric)) continue;
    if (metric.name == kEngineBusy) each_class(page, family, use);
    for (const PageView::Entry& entry : family.entries) {
      const Series series{&metric, entry};
      const std::string_view device = series.label("device");
      if (device.empty() || !std::isfinite(series.value())) continue;
      const std::string column = column_of(rate != nullptr ? rate->column : metric.name, series);
      if (rate == nullptr) {
        if (series.label("source") != "fdinfo") use(device, column, series.value());  // otherwise that of its class
        continue;
      }
      double& before = counts_[std::string(device) + ' ' + column];
      const double gain = series.value() - before;
      before = series.value();
      if (gain >= 0 && seconds > 0) use(device, column, gain / seconds);
    }
  }
}

}  // namespace igpu::exporter
