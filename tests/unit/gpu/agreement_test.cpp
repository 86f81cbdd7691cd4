// SPDX-License-Identifier: Apache-2.0
// Gpu::read(), `stats`, `top` and /metrics report the same values of one machine at one time.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "gpu/open_gpu.h"
#include "igpu/monitor.h"
#include "model/fields.h"
#include "support/exposition_parser.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"
#include "view/format/json_writer.h"
#include "view/format/text_writer.h"
#include "view/top/host_frame.h"

using namespace igpu;
using namespace igpu::snapshot;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// Values by metric and labels: "intel_gpu_frequency_hertz gt=0 kind=actual".
using Values = std::map<std::string, double>;

std::string key(std::string_view metric, std::map<std::string, std::string> labels) {
  std::string text(metric);
  for (const auto& [name, value] : labels)
    if (!value.empty()) text += " " + name + "=" + value;
  return text;
}

// The fields of a Snapshot: not those that only pages have.
bool has_field(std::string_view metric) {
  constexpr std::string_view kBeyond[] = {"gpu",
                                          "gpu.processes_dropped",
                                          "feature",
                                          "feature.missing",
                                          "gpu.wedged",
                                          "gpu.faults",
                                          "gpu.survivability",
                                          "gpu.may_sleep",  // of the collector health, which a Gpu does not run
                                          "hangs.count",
                                          "hang_cause.hangs",
                                          "gpu.resets",
                                          "gpu.uncorrectable_pcie_errors",
                                          "temperature_limit.value",
                                          "pcie.slot_speed",
                                          "pcie.slot_width"};
  const auto fields = model::fields_of(metric);
  if (!fields.empty() && fields.front().path.find("function") != std::string_view::npos) return false;  // of the model
  return !fields.empty() && std::find(std::begin(kBeyond), std::end(kBeyond), fields.front().path) == std::end(kBeyond);
}

Values of_page(const std::string& text, const std::string& device) {
  Values values;
  for (const ExpositionFamily& family : parse_prometheus_text(text).families) {
    for (const ExpositionSample& sample : family.samples) {
      if (!has_field(sample.name) || sample.label("device") != device) continue;
      std::map<std::string, std::string> labels(sample.labels.begin(), sample.labels.end());
      labels.erase("device");
      values[key(sample.name, labels)] = sample.value;
    }
  }
  return values;
}

Values of_stats(const std::string& line, const std::string& device) {
  Values values;
  const auto stats = nlohmann::json::parse(line);
  for (const auto& gpu : stats.at("gpus")) {
    if (gpu.at("device") != device) continue;
    for (const auto& [metric, samples] : gpu.at("metrics").items()) {
      if (!has_field(metric)) continue;
      for (const auto& sample : samples) {
        std::map<std::string, std::string> labels;
        for (const auto& [name, value] : sample.items())
          if (name != "value") labels[name] = value;
        values[key(metric, labels)] = sample.at("value");
      }
    }
  }
  return values;
}

// What a snapshot says, written as the metrics that it must agree with.
class Flat {
 public:
  explicit Flat(const Snapshot& s) {
    if (s.suspended) put("intel_gpu_runtime_suspended", {}, *s.suspended ? 1 : 0);
    if (s.hang_captured) put("intel_gpu_error_state", {}, *s.hang_captured ? 1 : 0);
    put("intel_gpu_interrupts_total", {}, s.interrupts);
    if (s.engines)
      for (const Engine& row : *s.engines) add(row);
    if (s.frequencies)
      for (const Frequency& row : *s.frequencies) add(row);
    if (s.throttling)
      for (const Throttling& row : *s.throttling) add(row);
    if (s.rc6) {
      for (const Residency& row : *s.rc6) {
        put("intel_gpu_rc6_residency_ratio", {{"gt", std::to_string(row.gt)}}, row.ratio);
        put("intel_gpu_rc6_residency_seconds_total", {{"gt", std::to_string(row.gt)}}, row.time);
      }
    }
    if (s.power) {
      for (const Power& row : *s.power) {
        put("intel_gpu_power_watts", {{"domain", row.domain}, {"source", row.source}}, row.mean);
        put("intel_gpu_energy_joules_total", {{"domain", row.domain}, {"source", row.source}}, row.energy);
      }
    }
    if (s.power_limits)
      for (const PowerLimit& row : *s.power_limits)
        put("intel_gpu_power_limit_watts", {{"domain", row.domain}, {"limit", row.limit}}, row.value.value);
    if (s.temperatures)
      for (const Temperature& row : *s.temperatures)
        put("intel_gpu_temperature_celsius", {{"sensor", row.sensor}}, row.value.value);
    if (s.fans)
      for (const Fan& row : *s.fans) put("intel_gpu_fan_speed_rpm", {{"fan", row.name}}, row.speed.value);
    if (s.voltages)
      for (const Voltage& row : *s.voltages) put("intel_gpu_voltage_volts", {{"domain", row.domain}}, row.value.value);
    if (s.memory) {
      for (const MemoryRegion& row : *s.memory) {
        put("intel_gpu_memory_size_bytes", {{"memory_region", row.name}}, row.size);
        put("intel_gpu_memory_used_bytes", {{"memory_region", row.name}}, row.used);
      }
    }
    if (s.memory_bandwidth)
      for (const Bandwidth& row : *s.memory_bandwidth)
        put("intel_gpu_memory_bandwidth_bytes_total", {{"direction", row.direction}}, row.total.value);
    if (s.pcie) {
      put("intel_gpu_pcie_link_speed_transfers_per_second", {{"bound", "current"}}, s.pcie->speed);
      put("intel_gpu_pcie_link_speed_transfers_per_second", {{"bound", "max"}}, s.pcie->max_speed);
      put("intel_gpu_pcie_link_width_lanes", {{"bound", "current"}}, s.pcie->width);
      put("intel_gpu_pcie_link_width_lanes", {{"bound", "max"}}, s.pcie->max_width);
    }
    if (s.processes) {
      put("intel_gpu_processes", {}, static_cast<double>(s.processes->size()));
      for (const Process& row : *s.processes) add(row);
    }
  }

  Values values;

 private:
  using Labels = std::map<std::string, std::string>;

  void put(std::string_view metric, const Labels& labels, double value) { values[key(metric, labels)] = value; }
  template <class T>
  void put(std::string_view metric, const Labels& labels, const Reading<T>& value) {
    if (value) put(metric, labels, value->value);
  }
  void add(const Engine& row) {
    Labels labels{{"engine", row.name}, {"class", std::string(to_string(row.engine_class))}};
    if (row.gt) labels["gt"] = std::to_string(*row.gt);
    put("intel_gpu_engine_wait_ratio", labels, row.wait);
    put("intel_gpu_engine_sema_ratio", labels, row.sema);
    labels["source"] = row.source == EngineSource::pmu ? "pmu" : "fdinfo";
    put("intel_gpu_engine_busy_ratio", labels, row.busy);
    put("intel_gpu_engine_busy_seconds_total", labels, row.busy_time);
  }
  void add(const Frequency& row) {
    const std::string gt = std::to_string(row.gt);
    put("intel_gpu_frequency_hertz", {{"gt", gt}, {"kind", "actual"}}, row.actual);
    put("intel_gpu_frequency_hertz", {{"gt", gt}, {"kind", "requested"}}, row.requested);
    put("intel_gpu_frequency_average_hertz", {{"gt", gt}, {"kind", "actual"}}, row.mean_actual);
    put("intel_gpu_frequency_average_hertz", {{"gt", gt}, {"kind", "requested"}}, row.mean_requested);
    const std::pair<const char*, const Reading<Hertz>&> limits[] = {
        {"min", row.min}, {"max", row.max}, {"boost", row.boost}, {"rp0", row.rp0},
        {"rp1", row.rp1}, {"rpn", row.rpn}, {"rpe", row.rpe},     {"rpa", row.rpa}};
    for (const auto& [name, value] : limits)
      put("intel_gpu_frequency_limit_hertz", {{"gt", gt}, {"limit", name}}, value);
  }
  void add(const Throttling& row) {
    const std::string gt = std::to_string(row.gt);
    put("intel_gpu_throttled", {{"gt", gt}, {"reason", "any"}}, row.limited ? 1 : 0);
    const std::set<std::string> active(row.reasons.begin(), row.reasons.end());
    for (const std::string& reason : row.known)
      put("intel_gpu_throttled", {{"gt", gt}, {"reason", reason}}, active.contains(reason) ? 1 : 0);
  }
  void add(const Process& row) {
    const Labels own{{"pid", std::to_string(row.pid)}, {"comm", row.comm}};
    const auto with = [&](Labels more) {
      more.insert(own.begin(), own.end());
      return more;
    };
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      const std::string of(to_string(static_cast<EngineClass>(i)));
      put("intel_gpu_process_engine_busy_ratio", with({{"class", of}}), row.busy[i]);
      put("intel_gpu_process_engine_busy_seconds_total", with({{"class", of}}), row.busy_time[i]);
    }
    for (const ProcessMemory& memory : row.memory)
      put("intel_gpu_process_memory_bytes", with({{"memory_region", memory.region}, {"state", memory.state}}),
          memory.value.value);
    put("intel_gpu_process_clients", own, row.clients);
    put("intel_gpu_process_cpu_seconds_total", own, row.cpu_time);
    put("intel_gpu_process_resident_memory_bytes", own, row.resident_memory);
    put("intel_gpu_process_virtual_memory_bytes", own, row.virtual_memory);
    put("intel_gpu_process_info",
        with({{"user", row.user},
              {"cgroup", row.cgroup},
              {"container_id", row.container_id},
              {"pod_uid", row.pod_uid},
              {"systemd_unit", row.systemd_unit}}),
        1);
  }
};

void check_same(const Values& expected, const Values& found) {
  for (const auto& [expected_name, value] : expected) {
    const auto& name = expected_name;  // clang 14 captures no structured binding
    INFO(name);
    const auto at = found.find(name);
    CHECK(at != found.end());
    if (at != found.end()) CHECK(at->second == value);
  }
  for (const auto& [found_name, found_value] : found) {
    const auto& name = found_name;
    const auto& value = found_value;
    INFO("not on the page: " << name << " = " << value);
    CHECK(expected.contains(name));
  }
}

}  // namespace

TEST_SUITE_BEGIN("gpu agreement");

TEST_CASE("read(), stats, top and /metrics agree on every simulated machine at one time") {
  std::size_t compared = 0;
  for (const SimulationProfile& profile : simulation_profiles()) {
    const auto parts = std::make_shared<SimulatedParts>(profile.name);
    RecordingLog log;
    MonitorOptions options;
    options.min_window = 1ms;
    GpuOptions gpu_options;
    gpu_options.min_window = options.min_window;
    const auto monitor = make_monitor(parts, options, log);
    std::vector<OpenGpu> gpus;
    for (const auto& script : parts->simulated->script().gpus)
      gpus.push_back(open_gpu([&] { return parts; }, script.address, gpu_options));
    for (const Nanoseconds step : {Nanoseconds(2s), Nanoseconds(300ms), Nanoseconds(15s)}) {
      parts->clock.advance(step);
      const auto scrape = monitor->scrape({});
      const PageView page(scrape->lists());
      std::string text, line;
      exporter::write_prometheus_text(page, text);
      exporter::write_json_line(page, std::chrono::system_clock::now(), line);
      const exporter::top::HostFrame local = exporter::top::frame_of(page);
      const exporter::top::HostFrame remote = exporter::top::frame_of(std::string_view(text));
      for (OpenGpu& gpu : gpus) {
        const Snapshot snapshot = gpu.read();
        INFO(profile.name << " " << snapshot.gpu.address << " after " << to_seconds(step).value << " s");
        const Values found = Flat(snapshot).values;
        Values of_metrics = of_page(text, snapshot.gpu.address);
        Values of_command = of_stats(line, snapshot.gpu.address);
        // Where nobody else's processes are visible, no processes are not 0 processes.
        if (snapshot.processes.is_absent() && snapshot.processes.absent().reason == Reason::permission)
          for (Values* values : {&of_metrics, &of_command}) CHECK(values->erase("intel_gpu_processes") == 1);
        check_same(of_metrics, found);
        check_same(of_command, found);
        for (const exporter::top::HostFrame* host : {&local, &remote}) {
          const GpuModel* const shown = host->gpu(snapshot.gpu.address);
          REQUIRE(shown != nullptr);
          check_same(of_metrics, Flat(*shown).values);
        }
        compared += found.size();
      }
    }
  }
  CHECK(compared > 1000);
}

TEST_SUITE_END();
