// SPDX-License-Identifier: Apache-2.0
#include "report/gpu_summary.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <utility>

#include "format/device_series.h"

namespace igpu::exporter {
namespace {

constexpr double kIdle = 0.0005;  // shown as 0.0 %

using Device = DeviceSeries;

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string percent(double ratio) { return formatted("%6.1f %%", ratio * 100); }
std::string megahertz(double hertz) { return formatted("%6.0f MHz", hertz / 1e6); }
std::string watts(double value) { return formatted("%6.1f W", value); }
std::string celsius(double value) { return formatted("%6.0f °C", value); }
std::string rpm(double value) { return formatted("%6.0f rpm", value); }

// "gt0 rcs0 render", from the labels that are present.
std::string name_of(const Series& series, std::initializer_list<std::string_view> labels) {
  std::string name;
  for (const std::string_view label : labels) {
    const std::string_view value = series.label(label);
    if (value.empty() || (label == "class" && value == series.label("engine"))) continue;
    if (!name.empty()) name += ' ';
    if (label == "gt") name += "gt";
    name += value;
  }
  return name;
}

using Format = std::string (*)(double);

class Builder {
 public:
  Builder(const Device& device, GpuSummary& summary) : device_(device), summary_(summary) {}

  void add(std::string_view title, std::string_view metric, std::initializer_list<std::string_view> labels,
           Format format) {
    SummarySection section{title, {}};
    device_.each(metric, [&](const Series& series) {
      section.rows.push_back({name_of(series, labels), format(series.value())});
    });
    add(std::move(section));
  }
  void add(SummarySection section) {
    if (!section.rows.empty()) summary_.sections.push_back(std::move(section));
  }

 private:
  const Device& device_;
  GpuSummary& summary_;
};

SummarySection memory(const Device& device) {
  SummarySection section{"memory", {}};
  device.each("intel_gpu_memory_size_bytes", [&](const Series& size) {
    const std::string_view region = size.label("memory_region");
    std::string value;
    device.each("intel_gpu_memory_used_bytes", [&](const Series& used) {
      if (used.label("memory_region") == region) value = human_bytes(used.value()) + " used of ";
    });
    section.rows.push_back({std::string(region), value + human_bytes(size.value())});
  });
  return section;
}

SummarySection throttling(const Device& device) {
  std::string reasons;
  device.each("intel_gpu_throttled", [&](const Series& series) {
    if (series.value() == 0 || series.label("reason") == "any") return;
    reasons += (reasons.empty() ? "" : ", ") + name_of(series, {"gt", "reason"});
  });
  if (reasons.empty()) return {};
  return {"throttled", {{reasons, ""}}};
}

std::vector<SummaryProcess> processes(const Device& device) {
  std::map<std::string, SummaryProcess, std::less<>> by_pid;
  const auto of = [&](const Series& series) -> SummaryProcess& {
    SummaryProcess& process = by_pid[std::string(series.label("pid"))];
    if (process.pid.empty()) {
      process.pid = series.label("pid");
      process.comm = series.label("comm");
    }
    return process;
  };
  device.each("intel_gpu_process_clients", [&](const Series& series) { of(series); });
  device.each("intel_gpu_process_engine_busy_ratio", [&](const Series& series) {
    if (series.value() < kIdle) return;
    SummaryProcess& process = of(series);
    process.busy += series.value();
    process.classes.push_back(std::string(series.label("class")) + formatted(" %.1f %%", series.value() * 100));
  });
  device.each("intel_gpu_process_memory_bytes", [&](const Series& series) {
    if (series.label("state") == "resident") of(series).resident_bytes += series.value();
  });
  std::vector<SummaryProcess> sorted;
  sorted.reserve(by_pid.size());
  for (auto& [pid, process] : by_pid) sorted.push_back(std::move(process));
  std::stable_sort(sorted.begin(), sorted.end(), [](const SummaryProcess& a, const SummaryProcess& b) {
    return std::pair(a.busy, a.resident_bytes) > std::pair(b.busy, b.resident_bytes);
  });
  return sorted;
}

}  // namespace

std::string human_bytes(double value) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return formatted(unit == 0 ? "%6.0f " : "%6.1f ", value) + kUnits[unit];
}

GpuSummary summarize(const PageView& page, const Gpu& gpu) {
  const Device device(page, gpu.address);
  GpuSummary summary;
  device.each("intel_gpu_runtime_suspended", [&](const Series& series) { summary.suspended = series.value() != 0; });
  Builder builder(device, summary);
  builder.add("engines", "intel_gpu_engine_busy_ratio", {"gt", "engine", "class"}, percent);
  builder.add("frequency", "intel_gpu_frequency_hertz", {"gt", "kind"}, megahertz);
  builder.add(throttling(device));
  builder.add("rc6", "intel_gpu_rc6_residency_ratio", {"gt"}, percent);
  builder.add("power", "intel_gpu_power_watts", {"domain"}, watts);
  builder.add("temperature", "intel_gpu_temperature_celsius", {"sensor"}, celsius);
  builder.add("fan", "intel_gpu_fan_speed_rpm", {"fan"}, rpm);
  builder.add(memory(device));
  summary.processes = processes(device);
  return summary;
}

}  // namespace igpu::exporter
