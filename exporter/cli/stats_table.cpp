// SPDX-License-Identifier: Apache-2.0
#include "cli/stats_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "cli/output.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kTitleWidth = 14;
constexpr std::size_t kNameWidth = 30;
constexpr std::size_t kMostProcesses = 10;

struct Series {
  const MetricDescriptor* metric;
  PageView::Entry entry;

  std::string_view label(std::string_view name) const {
    for (std::size_t i = 0; i < metric->label_count; ++i) {
      if (metric->label_names[i] == name) return entry.list->label_value(*entry.sample, i);
    }
    return {};
  }
  double value() const { return entry.sample->value; }
};

class Page {
 public:
  explicit Page(const PageView& page) {
    for (const PageView::Family& family : page.families()) families_.emplace(family.metric->name, &family);
  }
  void each(std::string_view metric, std::string_view device, const std::function<void(const Series&)>& use) const {
    const auto it = families_.find(metric);
    if (it == families_.end()) return;
    for (const PageView::Entry& entry : it->second->entries) {
      const Series series{it->second->metric, entry};
      if (series.label("device") == device) use(series);
    }
  }

 private:
  std::map<std::string_view, const PageView::Family*> families_;
};

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string percent(double ratio) { return formatted("%6.1f %%", ratio * 100); }

std::string bytes(double value) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return formatted(unit == 0 ? "%6.0f " : "%6.1f ", value) + kUnits[unit];
}

std::string megahertz(double hertz) { return formatted("%6.0f MHz", hertz / 1e6); }

// "gt0 rcs0 render", from the labels that are there.
std::string name_of(const Series& series, std::initializer_list<std::string_view> labels) {
  std::string name;
  for (const std::string_view label : labels) {
    const std::string_view value = series.label(label);
    if (value.empty() || (label == "class" && value == series.label("engine"))) continue;
    if (!name.empty()) name += ' ';
    if (label == "gt") name += "gt";
    name += terminal_safe(value);
  }
  return name;
}

class Section {
 public:
  explicit Section(std::string_view title) : title_(title) {}
  void row(std::string_view name, std::string_view value) {
    out_ += "  " + padded(out_.empty() ? title_ : std::string_view(), kTitleWidth) + padded(name, kNameWidth) +
            std::string(value) + '\n';
  }
  const std::string& text() const { return out_; }

 private:
  std::string_view title_;
  std::string out_;
};

using Format = std::string (*)(double);

std::string section(const Page& page, std::string_view device, std::string_view title, std::string_view metric,
                    std::initializer_list<std::string_view> labels, Format format) {
  Section out(title);
  page.each(metric, device, [&](const Series& series) { out.row(name_of(series, labels), format(series.value())); });
  return out.text();
}

std::string memory(const Page& page, std::string_view device) {
  Section out("memory");
  page.each("intel_gpu_memory_size_bytes", device, [&](const Series& size) {
    const std::string_view region = size.label("memory_region");
    std::string value;
    page.each("intel_gpu_memory_used_bytes", device, [&](const Series& used) {
      if (used.label("memory_region") == region) value = bytes(used.value()) + " used of";
    });
    out.row(terminal_safe(region), value + (value.empty() ? "" : " ") + bytes(size.value()));
  });
  return out.text();
}

std::string throttling(const Page& page, std::string_view device) {
  std::string reasons;
  page.each("intel_gpu_throttled", device, [&](const Series& series) {
    if (series.value() == 0 || series.label("reason") == "any") return;
    reasons += (reasons.empty() ? "" : ", ") + name_of(series, {"gt", "reason"});
  });
  if (reasons.empty()) return {};
  Section out("throttled");
  out.row(reasons, "");
  return out.text();
}

struct Process {
  std::string comm;
  double busy = 0;
  std::string classes;
  double memory = 0;
};

// The busiest first, then the largest.
std::string processes(const Page& page, std::string_view device) {
  std::map<std::string, Process> by_pid;
  page.each("intel_gpu_process_clients", device, [&](const Series& series) {
    by_pid[std::string(series.label("pid"))].comm = terminal_safe(series.label("comm"));
  });
  page.each("intel_gpu_process_engine_busy_ratio", device, [&](const Series& series) {
    if (series.value() < 0.0005) return;
    Process& process = by_pid[std::string(series.label("pid"))];
    process.busy += series.value();
    process.classes += (process.classes.empty() ? "" : ", ") + std::string(series.label("class")) + " " +
                       formatted("%.1f %%", series.value() * 100);
  });
  page.each("intel_gpu_process_memory_bytes", device, [&](const Series& series) {
    if (series.label("state") == "resident") by_pid[std::string(series.label("pid"))].memory += series.value();
  });
  std::vector<std::pair<std::string, Process>> sorted(by_pid.begin(), by_pid.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    if (a.second.busy != b.second.busy) return a.second.busy > b.second.busy;
    return a.second.memory > b.second.memory;
  });
  Section out("processes");
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostProcesses); ++i) {
    const auto& [pid, process] = sorted[i];
    out.row(padded(pid, 8) + process.comm, bytes(process.memory) + "  " + process.classes);
  }
  if (sorted.size() > kMostProcesses) out.row("and " + std::to_string(sorted.size() - kMostProcesses) + " more", "");
  return out.text();
}

bool is_asleep(const Page& page, std::string_view device) {
  bool asleep = false;
  page.each("intel_gpu_runtime_suspended", device, [&](const Series& series) { asleep = series.value() != 0; });
  return asleep;
}

}  // namespace

std::string stats_table(const PageView& view, std::span<const Gpu> gpus) {
  const Page page(view);
  std::string out;
  for (const Gpu& gpu : gpus) {
    const std::string& device = gpu.address;
    if (!out.empty()) out += '\n';
    out += device + "  " + (gpu.name.empty() ? "(unknown name)" : terminal_safe(gpu.name)) + "  (" +
           to_string(gpu.kind) + ", " + to_string(gpu.driver) + ")\n";
    if (is_asleep(page, device)) out += "  asleep; what would wake it is not read\n";
    out += section(page, device, "engines", "intel_gpu_engine_busy_ratio", {"gt", "engine", "class"}, percent);
    out += section(page, device, "frequency", "intel_gpu_frequency_hertz", {"gt", "kind"}, megahertz);
    out += throttling(page, device);
    out += section(page, device, "rc6", "intel_gpu_rc6_residency_ratio", {"gt"}, percent);
    out += section(page, device, "power", "intel_gpu_power_watts", {"domain"},
                   [](double watts) { return formatted("%6.1f W", watts); });
    out += section(page, device, "temperature", "intel_gpu_temperature_celsius", {"sensor"},
                   [](double celsius) { return formatted("%6.0f °C", celsius); });
    out += section(page, device, "fan", "intel_gpu_fan_speed_rpm", {"fan"},
                   [](double rpm) { return formatted("%6.0f rpm", rpm); });
    out += memory(page, device);
    out += processes(page, device);
  }
  return out;
}

}  // namespace igpu::exporter
