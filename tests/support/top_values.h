// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "support/exposition_parser.h"
#include "top/frame.h"

// What `top` shows of a GPU and what a page says, in one form: values by metric and labels,
// "intel_gpu_frequency_hertz gt=0 kind=actual".
namespace igpu::test {

using MetricLabels = std::map<std::string, std::string>;
using MetricValues = std::map<std::string, double>;

inline std::string metric_key(std::string_view metric, const MetricLabels& labels) {
  std::string text(metric);
  for (const auto& [name, value] : labels)
    if (!value.empty()) text += " " + name + "=" + value;
  return text;
}

// A page's values of one GPU, reduced to what `top` shows: fewer labels, active throttle reasons, resident memory as a
// sum over the regions.
inline MetricValues values_for_top(const Exposition& page, std::string_view device) {
  static const std::map<std::string_view, std::set<std::string_view>> labels_shown{
      {"intel_gpu_info", {"card", "driver", "name", "kind"}},
      {"intel_gpu_runtime_suspended", {}},
      {"intel_gpu_error_state", {}},
      {"intel_gpu_engine_busy_ratio", {"gt", "engine", "class", "source"}},
      {"intel_gpu_engine_wait_ratio", {"gt", "engine", "class"}},
      {"intel_gpu_engine_sema_ratio", {"gt", "engine", "class"}},
      {"intel_gpu_frequency_hertz", {"gt", "kind"}},
      {"intel_gpu_frequency_limit_hertz", {"gt", "limit"}},
      {"intel_gpu_throttled", {"gt", "reason"}},
      {"intel_gpu_rc6_residency_ratio", {"gt"}},
      {"intel_gpu_power_watts", {"domain"}},
      {"intel_gpu_power_limit_watts", {"domain", "limit"}},
      {"intel_gpu_temperature_celsius", {"sensor"}},
      {"intel_gpu_fan_speed_rpm", {"fan"}},
      {"intel_gpu_voltage_volts", {"domain"}},
      {"intel_gpu_memory_size_bytes", {"memory_region"}},
      {"intel_gpu_memory_used_bytes", {"memory_region"}},
      {"intel_gpu_memory_bandwidth_bytes_total", {"direction"}},
      {"intel_gpu_pcie_link_speed_transfers_per_second", {"bound"}},
      {"intel_gpu_pcie_link_width_lanes", {"bound"}},
      {"intel_gpu_exporter_feature_available", {"feature", "reason"}},
      {"intel_gpu_processes", {}},
      {"intel_gpu_processes_dropped", {}},
      {"intel_gpu_process_engine_busy_ratio", {"pid", "comm", "class"}},
      {"intel_gpu_process_memory_bytes", {"pid", "comm"}},
      {"intel_gpu_process_resident_memory_bytes", {"pid", "comm"}},
      {"intel_gpu_process_cpu_seconds_total", {"pid", "comm"}},
      {"intel_gpu_process_clients", {"pid", "comm"}},
      {"intel_gpu_process_info", {"pid", "comm", "user", "cgroup", "container_id", "systemd_unit"}},
  };
  static const std::set<std::string_view> frequency_limits{"min", "max", "rp0"};
  MetricValues values;
  for (const ExpositionFamily& family : page.families) {
    const auto shown = labels_shown.find(family.name);
    if (shown == labels_shown.end()) continue;
    std::set<std::string_view> reasons_by_gt;
    for (const ExpositionSample& sample : family.samples) {
      if (family.name == "intel_gpu_throttled" && sample.label("device") == device && sample.value != 0 &&
          sample.label("reason") != "any")
        reasons_by_gt.insert(sample.label("gt"));
    }
    for (const ExpositionSample& sample : family.samples) {
      if (sample.label("device") != device) continue;
      const std::string_view limit = sample.label("limit"), state = sample.label("state");
      if (family.name == "intel_gpu_frequency_limit_hertz" && !frequency_limits.contains(limit)) continue;
      if (family.name == "intel_gpu_power_limit_watts" && limit != "max") continue;
      if (family.name == "intel_gpu_process_memory_bytes" && state != "resident") continue;
      if (family.name == "intel_gpu_exporter_feature_available" && sample.value != 0) continue;
      const bool is_state = family.name == "intel_gpu_runtime_suspended" || family.name == "intel_gpu_error_state";
      if (is_state && sample.value == 0) continue;
      const bool named_elsewhere = sample.label("reason") == "any" && reasons_by_gt.contains(sample.label("gt"));
      if (family.name == "intel_gpu_throttled" && (sample.value == 0 || named_elsewhere)) continue;
      MetricLabels labels;
      for (const auto& [name, value] : sample.labels)
        if (shown->second.contains(name)) labels[name] = value;
      values[metric_key(family.name, labels)] += sample.value;
    }
  }
  return values;
}

// The same of a frame.
class TopValues {
 public:
  TopValues(const exporter::top::HostFrame& host, std::string_view device) {
    for (std::size_t i = 0; i < host.gpus.size(); ++i) {
      if (host.gpus[i].device != device) continue;
      add(host.gpus[i]);
      for (const exporter::top::ProcessRow& row : host.processes)
        if (row.gpu == i) add(row);
    }
  }

  MetricValues values;

 private:
  void put(std::string_view metric, const MetricLabels& labels, std::optional<double> value) {
    if (value) values[metric_key(metric, labels)] = *value;
  }

  void add(const exporter::top::GpuFrame& gpu) {
    put("intel_gpu_info", {{"card", gpu.card}, {"driver", gpu.driver}, {"name", gpu.name}, {"kind", gpu.kind}}, 1);
    if (gpu.suspended) put("intel_gpu_runtime_suspended", {}, 1);
    if (gpu.hung) put("intel_gpu_error_state", {}, 1);
    for (const exporter::top::EngineRow& row : gpu.engines) {
      MetricLabels labels{{"gt", row.gt}, {"engine", row.name}, {"class", row.engine_class}};
      put("intel_gpu_engine_wait_ratio", labels, row.wait);
      put("intel_gpu_engine_sema_ratio", labels, row.sema);
      labels["source"] = row.from_clients ? "fdinfo" : "pmu";
      put("intel_gpu_engine_busy_ratio", labels, row.busy);
    }
    for (const exporter::top::GtRow& row : gpu.gts) {
      put("intel_gpu_frequency_hertz", {{"gt", row.gt}, {"kind", "actual"}}, row.actual_hertz);
      put("intel_gpu_frequency_hertz", {{"gt", row.gt}, {"kind", "requested"}}, row.requested_hertz);
      put("intel_gpu_frequency_limit_hertz", {{"gt", row.gt}, {"limit", "min"}}, row.min_hertz);
      put("intel_gpu_frequency_limit_hertz", {{"gt", row.gt}, {"limit", "max"}}, row.max_hertz);
      put("intel_gpu_frequency_limit_hertz", {{"gt", row.gt}, {"limit", "rp0"}}, row.highest_hertz);
      put("intel_gpu_rc6_residency_ratio", {{"gt", row.gt}}, row.rc6);
      for (const std::string& reason : row.throttle_reasons)
        put("intel_gpu_throttled", {{"gt", row.gt}, {"reason", reason}}, 1);
    }
    for (const exporter::top::PowerRow& row : gpu.power) {
      put("intel_gpu_power_watts", {{"domain", row.domain}}, row.watts);
      put("intel_gpu_power_limit_watts", {{"domain", row.domain}, {"limit", "max"}}, row.limit_watts);
    }
    for (const exporter::top::NamedValue& row : gpu.temperatures)
      put("intel_gpu_temperature_celsius", {{"sensor", row.name}}, row.value);
    for (const exporter::top::NamedValue& row : gpu.fans)
      put("intel_gpu_fan_speed_rpm", {{"fan", row.name}}, row.value);
    for (const exporter::top::NamedValue& row : gpu.voltages)
      put("intel_gpu_voltage_volts", {{"domain", row.name}}, row.value);
    for (const exporter::top::MemoryRow& row : gpu.memory) {
      put("intel_gpu_memory_size_bytes", {{"memory_region", row.region}}, row.size);
      put("intel_gpu_memory_used_bytes", {{"memory_region", row.region}}, row.used);
    }
    for (const exporter::top::CountedBytes& row : gpu.bandwidth)
      put("intel_gpu_memory_bandwidth_bytes_total", {{"direction", row.direction}}, row.total);
    put("intel_gpu_pcie_link_speed_transfers_per_second", {{"bound", "current"}}, gpu.link.speed);
    put("intel_gpu_pcie_link_speed_transfers_per_second", {{"bound", "max"}}, gpu.link.max_speed);
    put("intel_gpu_pcie_link_width_lanes", {{"bound", "current"}}, gpu.link.width);
    put("intel_gpu_pcie_link_width_lanes", {{"bound", "max"}}, gpu.link.max_width);
    for (const exporter::top::MissingFeature& row : gpu.missing)
      put("intel_gpu_exporter_feature_available", {{"feature", row.feature}, {"reason", row.reason}}, 0);
    put("intel_gpu_processes", {}, gpu.processes);
    put("intel_gpu_processes_dropped", {}, gpu.processes_dropped);
  }

  void add(const exporter::top::ProcessRow& row) {
    const MetricLabels own{{"pid", row.pid}, {"comm", row.comm}};
    for (std::size_t i = 0; i < exporter::top::kEngineClasses.size(); ++i) {
      MetricLabels labels = own;
      labels["class"] = exporter::top::kEngineClasses[i];
      put("intel_gpu_process_engine_busy_ratio", labels, row.classes[i]);
    }
    put("intel_gpu_process_memory_bytes", own, row.memory_bytes);
    put("intel_gpu_process_resident_memory_bytes", own, row.resident_bytes);
    put("intel_gpu_process_cpu_seconds_total", own, row.cpu_seconds);
    put("intel_gpu_process_clients", own, row.clients);
    MetricLabels described = own;
    described.insert(
        {{"user", row.user}, {"cgroup", row.cgroup}, {"container_id", row.container}, {"systemd_unit", row.unit}});
    put("intel_gpu_process_info", described, 1);
  }
};

}  // namespace igpu::test
