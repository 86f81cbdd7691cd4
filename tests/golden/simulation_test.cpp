// SPDX-License-Identifier: Apache-2.0
// The simulation and its /metrics: the page of every profile, read by the strict parser, is compared with values
// that the script computes without any collector.
#include "fake/simulation/simulation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "igpu/monitor.h"
#include "support/expected_values.h"
#include "support/exposition_parser.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"
#include "view/format/text_writer.h"

using namespace igpu;
using namespace igpu::simulation;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr Nanoseconds kWindow = 15s;

// A profile that is watched: after some scrapes, two pages that are kWindow apart.
struct Watched {
  explicit Watched(std::string_view profile) : parts(std::make_shared<SimulatedParts>(profile)) {
    MonitorOptions options;
    options.min_window = 1ms;
    monitor = make_monitor(parts, options, log);
    for (int warm_up = 0; warm_up < 3; ++warm_up) scrape();
    before = scrape();
    from = now();
    page = scrape();
    to = now();
  }
  Exposition scrape() {
    parts->clock.advance(kWindow);
    const auto result = monitor->scrape({});
    text.clear();
    exporter::write_prometheus_text(PageView(result->lists()), text);
    return parse_prometheus_text(text);
  }
  ScriptTime now() const { return parts->simulated->script_time(parts->clock.now()); }
  const MachineScript& script() const { return parts->simulated->script(); }

  RecordingLog log;
  std::shared_ptr<SimulatedParts> parts;
  std::unique_ptr<Monitor> monitor;
  std::string text;
  Exposition before, page;
  ScriptTime from{}, to{};
};

using Labels = Exposition::LabelFilter;

std::string label_text(Labels labels) {
  std::string text;
  for (const auto& [name, value] : labels) text += std::string(name) + "=" + std::string(value) + " ";
  return text;
}

void check_gauge(const Watched& w, std::string_view metric, Labels labels, double expected, double tolerance) {
  INFO(metric << " " << label_text(labels) << "expected " << expected);
  const auto value = w.page.value(metric, labels);
  CHECK(value);
  if (value) CHECK(std::abs(*value - expected) <= tolerance);
}

// How much a counter grew from the page before to this one.
void check_growth(const Watched& w, std::string_view metric, Labels labels, double expected, double tolerance) {
  INFO(metric << " " << label_text(labels) << "expected to grow by " << expected);
  const auto first = w.before.value(metric, labels);
  const auto second = w.page.value(metric, labels);
  CHECK(first);
  CHECK(second);
  if (first && second) CHECK(std::abs(*second - *first - expected) <= tolerance);
}

void check_absent(const Watched& w, std::string_view metric, Labels labels) {
  INFO(metric << " " << label_text(labels));
  CHECK(w.page.find(metric, labels).empty());
}

std::string number(std::uint64_t value) { return std::to_string(value); }

const std::vector<std::string> kOpen{"tgl-broadcast", "arc-a770", "battlemage", "rack"};

}  // namespace

TEST_SUITE_BEGIN("simulation and page");

TEST_CASE("on a machine with all permissions nothing fails or is refused") {
  for (const std::string& profile : kOpen) {
    Watched w(profile);
    INFO(profile);
    CHECK(w.page.value("intel_gpu_exporter_devices") == static_cast<double>(w.script().gpus.size()));
    for (const auto* success : w.page.find("intel_gpu_scrape_collector_success")) {
      INFO(success->label("collector"));
      CHECK(success->value == 1);
    }
    for (const auto* feature : w.page.find("intel_gpu_exporter_feature_available")) {
      INFO(feature->label("device") << " " << feature->label("feature") << " " << feature->label("reason"));
      CHECK(feature->label("reason") != "permission");
    }
    CHECK(w.log.count(LogLevel::error) == 0);
  }
}

TEST_CASE("every GPU is described as the profile defines it") {
  for (const char* profile : {"tgl-broadcast", "arc-a770", "battlemage", "rack", "locked", "asleep"}) {
    Watched w(profile);
    for (const GpuScript& gpu : w.script().gpus) {
      INFO(profile << " " << gpu.address);
      const auto info = w.page.find("intel_gpu_info", {{"device", gpu.address}});
      REQUIRE(info.size() == 1);
      CHECK(info[0]->value == 1);
      CHECK(info[0]->label("card") == gpu.card_name());
      CHECK(info[0]->label("render_node") == gpu.render_name());
      CHECK(info[0]->label("driver") == to_string(gpu.model.driver));
      CHECK(info[0]->label("kind") == to_string(gpu.model.kind));
      CHECK(info[0]->label("name") == gpu.model.name);
      check_gauge(w, "intel_gpu_runtime_suspended", {{"device", gpu.address}}, gpu.suspended ? 1 : 0, 0);
    }
    CHECK(w.page.find("intel_gpu_info").size() == w.script().gpus.size());
  }
}

TEST_CASE("engines: busy, wait and sema follow the script, within a nanosecond per second") {
  for (const std::string& profile : kOpen) {
    Watched w(profile);
    for (const GpuScript& gpu : w.script().gpus) {
      INFO(profile << " " << gpu.address);
      for (const EngineScript& engine : gpu.engines) {
        const std::string gt = number(engine.model.gt);
        const std::string_view cls = names_of(engine.model.engine_class).label;
        const Labels one{{"device", gpu.address}, {"gt", gt}, {"engine", engine.name}, {"class", cls}};
        const Labels from_pmu{
            {"device", gpu.address}, {"gt", gt}, {"engine", engine.name}, {"class", cls}, {"source", "pmu"}};
        const double busy = expected_engine_busy_ratio(gpu, engine.name, w.from, w.to);
        check_gauge(w, "intel_gpu_engine_busy_ratio", from_pmu, busy, 1e-6);
        check_growth(w, "intel_gpu_engine_busy_seconds_total", from_pmu, busy * 15, 1e-6);
        if (gpu.model.driver == Driver::i915) {
          check_gauge(w, "intel_gpu_engine_wait_ratio", one, expected_engine_wait_ratio(gpu, engine.name, w.from, w.to),
                      1e-6);
          check_gauge(w, "intel_gpu_engine_sema_ratio", one, expected_engine_sema_ratio(gpu, engine.name, w.from, w.to),
                      1e-6);
        } else {
          check_growth(w, "intel_gpu_engine_ticks_total", one, 15 * 19.2e6, 2);
          check_growth(w, "intel_gpu_engine_active_ticks_total", one, busy * 15 * 19.2e6, 2);
        }
      }
      CHECK(w.page.find("intel_gpu_engine_busy_ratio", {{"device", gpu.address}}).size() == gpu.engines.size());
    }
  }
}

TEST_CASE("hypervisor: the card works for all functions together, and each of them has its part and its machine") {
  Watched w("hypervisor");
  const GpuScript& gpu = w.script().gpus[0];
  for (const auto* success : w.page.find("intel_gpu_scrape_collector_success")) {
    INFO(success->label("collector"));
    CHECK(success->value == 1);
  }
  check_gauge(w, "intel_gpu_vfs", {{"device", gpu.address}, {"state", "enabled"}}, 4, 0);
  check_gauge(w, "intel_gpu_vfs", {{"device", gpu.address}, {"state", "total"}}, 7, 0);
  const std::map<std::string, std::string> machines{{"1", "news"}, {"2", "sport"}, {"3", "inference"}, {"4", ""}};
  CHECK(w.page.find("intel_gpu_vf_info").size() == machines.size());
  for (const FunctionScript& function : gpu.functions) {
    const std::string vf = number(function.number);
    INFO("vf " << vf);
    const auto info = w.page.find("intel_gpu_vf_info", {{"vf", vf}});
    REQUIRE(info.size() == 1);
    CHECK(info[0]->label("vf_address") == gpu.address_of(function));
    CHECK(info[0]->label("driver") == (function.driver.empty() ? "none" : function.driver));
    CHECK(info[0]->label("workload") == machines.at(vf));
    check_gauge(w, "intel_gpu_vf_exec_quantum_seconds", {{"vf", vf}}, 0.02, 0);
    check_gauge(w, "intel_gpu_vf_preempt_timeout_seconds", {{"vf", vf}}, 0.02, 0);
    check_gauge(w, "intel_gpu_vf_vram_quota_bytes", {{"vf", vf}}, static_cast<double>(function.vram_quota), 0);
    check_gauge(w, "intel_gpu_vf_adverse_events_total", {{"vf", vf}, {"kind", "engine_reset"}},
                static_cast<double>(function.resets(w.to)), 0);
  }
  for (const EngineScript& engine : gpu.engines) {
    INFO(engine.name);
    const Labels of_device{{"device", gpu.address}, {"engine", engine.name}, {"source", "pmu"}};
    const double busy = expected_engine_busy_ratio(gpu, engine.name, w.from, w.to);
    check_gauge(w, "intel_gpu_engine_busy_ratio", of_device, busy, 1e-5);
    check_growth(w, "intel_gpu_engine_busy_seconds_total", of_device, busy * 15, 1e-4);
    double of_all = 0;
    const std::string gt = number(engine.model.gt);
    for (const FunctionScript& function : gpu.functions) {
      const std::string vf = number(function.number);
      const Labels of_function{{"vf", vf}, {"gt", gt}, {"engine", engine.name}};
      const double part = expected_function_busy_ratio(gpu, engine.name, function.number, w.from, w.to);
      check_gauge(w, "intel_gpu_vf_engine_busy_ratio", of_function, part, 1e-5);
      check_growth(w, "intel_gpu_vf_engine_busy_seconds_total", of_function, part * 15, 1e-4);
      of_all += part;
    }
    CHECK(of_all <= busy + 1e-6);
  }
  REQUIRE(w.script().npus.size() == 1);
  const NpuScript& npu = w.script().npus.front();
  check_gauge(w, "intel_npu_info", {{"device", npu.address}, {"name", std::string(npu.name)}}, 1, 0);
  check_gauge(w, "intel_npu_memory_resident_bytes", {{"device", npu.address}},
              static_cast<double>(npu.resident_bytes.value(w.to)), 0);
  for (const char* feature : {"vf_engine_busy", "vf_shares", "vf_workload", "vf_adverse_events"})
    CHECK(w.page.find("intel_gpu_exporter_feature_available", {{"feature", feature}, {"reason", "ok"}}).size() == 1);
}

TEST_CASE("frequency: current, average and limits") {
  for (const std::string& profile : kOpen) {
    Watched w(profile);
    for (const GpuScript& gpu : w.script().gpus) {
      for (std::size_t i = 0; i < gpu.gts.size(); ++i) {
        const GtScript& gt = gpu.gts[i];
        const std::string n = number(i);
        INFO(profile << " " << gpu.address << " gt" << n);
        for (const bool requested : {false, true}) {
          const std::string_view kind = requested ? "requested" : "actual";
          const Labels labels{{"device", gpu.address}, {"gt", n}, {"kind", kind}};
          check_gauge(w, "intel_gpu_frequency_hertz", labels,
                      requested ? expected_requested_hertz(gt, w.to) : expected_actual_hertz(gt, w.to), 0);
          if (gpu.model.driver != Driver::i915) continue;
          const double average = expected_average_hertz(gt, requested, w.from, w.to);
          // The PMU counts whole MHz seconds.
          check_gauge(w, "intel_gpu_frequency_average_hertz", labels, average, 1e6 / 15 + 1);
          check_growth(w, "intel_gpu_frequency_cycles_total", labels, average * 15, 1e6 + 1);
        }
        const auto limit = [&](std::string_view which, unsigned mhz) {
          check_gauge(w, "intel_gpu_frequency_limit_hertz", {{"device", gpu.address}, {"gt", n}, {"limit", which}},
                      mhz * 1e6, 0);
        };
        limit("min", gt.model.rpn);
        limit("max", gt.model.rp0);
        limit("rp0", gt.model.rp0);
        limit("rpn", gt.model.rpn);
        limit(gpu.model.driver == Driver::xe ? "rpe" : "rp1", gt.model.rp1);
        check_gauge(w, "intel_gpu_throttled", {{"device", gpu.address}, {"gt", n}, {"reason", "pl1"}},
                    static_cast<double>(gt.pl1_throttled.value(w.to)), 0);
        check_gauge(w, "intel_gpu_throttled", {{"device", gpu.address}, {"gt", n}, {"reason", "any"}},
                    static_cast<double>(gt.pl1_throttled.value(w.to)), 0);
      }
    }
  }
}

TEST_CASE("throttling is reported exactly in the seconds in which the card is at its power limit") {
  Watched w("arc-a770");
  const GpuScript& gpu = w.script().gpus[0];
  int throttled = 0, free = 0;
  for (int i = 0; i < 40; ++i) {
    w.page = w.scrape();
    const bool expected = gpu.gts[0].pl1_throttled.value(w.now()) != 0;
    ++(expected ? throttled : free);
    check_gauge(w, "intel_gpu_throttled", {{"device", gpu.address}, {"reason", "pl1"}}, expected ? 1 : 0, 0);
  }
  CHECK(throttled > 0);
  CHECK(free > 0);
}

TEST_CASE("RC6 and C6 are the complement of the time awake") {
  for (const std::string& profile : kOpen) {
    Watched w(profile);
    for (const GpuScript& gpu : w.script().gpus) {
      for (std::size_t i = 0; i < gpu.gts.size(); ++i) {
        const std::string n = number(i);
        INFO(profile << " " << gpu.address << " gt" << n);
        const double ratio = expected_rc6_ratio(gpu.gts[i], w.from, w.to);
        const Labels labels{{"device", gpu.address}, {"gt", n}};
        check_gauge(w, "intel_gpu_rc6_residency_ratio", labels, ratio, 2e-4);  // milliseconds
        check_growth(w, "intel_gpu_rc6_residency_seconds_total", labels, ratio * 15, 2e-3);
        if (gpu.model.driver == Driver::i915)
          check_growth(w, "intel_gpu_awake_seconds_total", labels, (1 - ratio) * 15, 1e-3);
      }
      if (gpu.model.driver == Driver::i915) {
        check_growth(w, "intel_gpu_interrupts_total", {{"device", gpu.address}},
                     static_cast<double>(gpu.interrupts.integral(w.to) - gpu.interrupts.integral(w.from)), 1);
      }
    }
  }
}

TEST_CASE("power: RAPL for an integrated GPU, hwmon for a card, never mixed up") {
  for (const std::string& profile : kOpen) {
    Watched w(profile);
    const HostScript& host = w.script().host;
    for (const GpuScript& gpu : w.script().gpus) {
      INFO(profile << " " << gpu.address);
      const auto check = [&](std::string_view domain, std::string_view source, const Course& microwatts) {
        const Labels labels{{"device", gpu.address}, {"domain", domain}, {"source", source}};
        check_gauge(w, "intel_gpu_power_watts", labels, expected_watts(microwatts, w.from, w.to), 1e-3);
        check_growth(w, "intel_gpu_energy_joules_total", labels, expected_joules(microwatts, w.from, w.to), 1e-2);
      };
      if (gpu.model.kind == GpuKind::integrated) {
        check("gpu", "rapl_pmu", gpu.package_microwatts);
        check("package", "rapl_pmu", host.package_microwatts);
        check("cores", "rapl_pmu", host.cores_microwatts);
        if (host.has_psys) check("psys", "rapl_pmu", host.psys_microwatts);
        check_absent(w, "intel_gpu_power_watts", {{"device", gpu.address}, {"source", "hwmon"}});
        check_absent(w, "intel_gpu_power_watts", {{"device", gpu.address}, {"source", "powercap"}});
      } else {
        check("package", "hwmon", gpu.package_microwatts);
        if (gpu.model.driver == Driver::xe) check("card", "hwmon", gpu.card_microwatts);
        check_absent(w, "intel_gpu_power_watts", {{"device", gpu.address}, {"source", "rapl_pmu"}});
        check_absent(w, "intel_gpu_power_watts", {{"device", gpu.address}, {"domain", "cores"}});
      }
    }
  }
}

TEST_CASE("temperatures, fans and power limits carry the right names and units") {
  for (const std::string& profile : kOpen) {
    Watched w(profile);
    for (const GpuScript& gpu : w.script().gpus) {
      INFO(profile << " " << gpu.address);
      const bool integrated = gpu.model.kind == GpuKind::integrated;
      const Course& temperature = integrated ? w.script().host.temperature : gpu.temperature;
      check_gauge(w, "intel_gpu_temperature_celsius", {{"device", gpu.address}, {"sensor", "package"}},
                  static_cast<double>(temperature.value(w.to)) / 1000, 1e-9);
      if (integrated) {
        check_absent(w, "intel_gpu_fan_speed_rpm", {{"device", gpu.address}});
        check_absent(w, "intel_gpu_power_limit_watts", {{"device", gpu.address}});
        continue;
      }
      CHECK(w.page.find("intel_gpu_fan_speed_rpm", {{"device", gpu.address}}).size() ==
            (gpu.model.driver == Driver::xe ? 3 : 1));
      if (gpu.model.driver == Driver::i915) {
        check_gauge(w, "intel_gpu_power_limit_watts",
                    {{"device", gpu.address}, {"domain", "package"}, {"limit", "max"}}, 190, 0);
        check_gauge(w, "intel_gpu_power_limit_watts",
                    {{"device", gpu.address}, {"domain", "package"}, {"limit", "rated_max"}}, 225, 1);
      } else {
        check_gauge(w, "intel_gpu_temperature_celsius", {{"device", gpu.address}, {"sensor", "vram"}},
                    static_cast<double>(gpu.temperature.value(w.to)) / 1000 + 4, 1e-9);
        check_gauge(w, "intel_gpu_power_limit_watts", {{"device", gpu.address}, {"domain", "card"}, {"limit", "cap"}},
                    190, 0);
      }
    }
  }
}

TEST_CASE("memory of the devices") {
  for (const std::string& profile : kOpen) {
    Watched w(profile);
    for (std::size_t i = 0; i < w.script().gpus.size(); ++i) {
      const GpuScript& gpu = w.script().gpus[i];
      INFO(profile << " " << gpu.address);
      const bool xe = gpu.model.driver == Driver::xe;
      CHECK(w.page.value("intel_gpu_memory_size_bytes", {{"device", gpu.address}, {"memory_region", "system"}})
                .value_or(0) > 1e10);
      if (xe) {
        check_gauge(w, "intel_gpu_memory_used_bytes", {{"device", gpu.address}, {"memory_region", "system"}},
                    static_cast<double>(system_memory_used(w.script(), i, w.to)), 0);
      } else {  // i915 does not keep account of system memory
        check_absent(w, "intel_gpu_memory_used_bytes", {{"device", gpu.address}, {"memory_region", "system"}});
      }
      if (gpu.model.vram_bytes == 0) continue;
      const Labels vram{{"device", gpu.address}, {"memory_region", xe ? "vram0" : "local0"}};
      check_gauge(w, "intel_gpu_memory_size_bytes", vram, static_cast<double>(gpu.model.vram_bytes), 0);
      check_gauge(w, "intel_gpu_memory_used_bytes", vram, static_cast<double>(gpu.vram_used.value(w.to)), 0);
    }
  }
}

TEST_CASE("memory traffic belongs to the integrated GPU") {
  for (const std::string& profile : kOpen) {
    Watched w(profile);
    for (const GpuScript& gpu : w.script().gpus) {
      INFO(profile << " " << gpu.address);
      if (gpu.model.kind == GpuKind::discrete) {
        check_absent(w, "intel_gpu_memory_bandwidth_bytes_total", {{"device", gpu.address}});
        continue;
      }
      for (const bool read : {true, false}) {
        const Course& lines = read ? w.script().host.memory_read : w.script().host.memory_written;
        check_growth(w, "intel_gpu_memory_bandwidth_bytes_total",
                     {{"device", gpu.address}, {"direction", read ? "read" : "write"}},
                     expected_memory_bytes(lines, w.from, w.to), 4 * 64);
      }
    }
  }
}

TEST_CASE("the PCIe link is that of the slot") {
  for (const std::string& profile : kOpen) {
    Watched w(profile);
    for (const GpuScript& gpu : w.script().gpus) {
      INFO(profile << " " << gpu.address);
      if (gpu.model.kind == GpuKind::integrated) {
        check_absent(w, "intel_gpu_pcie_link_speed_transfers_per_second", {{"device", gpu.address}});
        check_absent(w, "intel_gpu_pcie_link_width_lanes", {{"device", gpu.address}});
        continue;
      }
      check_gauge(w, "intel_gpu_pcie_link_speed_transfers_per_second", {{"device", gpu.address}, {"bound", "current"}},
                  gpu.model.link_gigatransfers * 1e9, 0);
      check_gauge(w, "intel_gpu_pcie_link_width_lanes", {{"device", gpu.address}, {"bound", "current"}},
                  std::min(gpu.model.card_lanes, gpu.model.slot_lanes), 0);
      check_gauge(w, "intel_gpu_pcie_link_width_lanes", {{"device", gpu.address}, {"bound", "max"}},
                  gpu.model.card_lanes, 0);
    }
  }
}

TEST_CASE("processes: use of every class, memory, and identity") {
  for (const std::string& profile : kOpen) {
    Watched w(profile);
    const MachineScript& script = w.script();
    for (std::size_t g = 0; g < script.gpus.size(); ++g) {
      const GpuScript& gpu = script.gpus[g];
      std::size_t holders = 0;
      for (const ProcessScript& process : script.processes) {
        const std::size_t clients = expected_process_clients(script, process.pid, g, w.to);
        if (clients == 0) continue;
        ++holders;
        const std::string pid = number(process.pid);
        INFO(profile << " " << gpu.address << " " << process.comm << " " << pid);
        const Labels own{{"device", gpu.address}, {"pid", pid}, {"comm", process.comm}};
        check_gauge(w, "intel_gpu_process_clients", own, static_cast<double>(clients), 0);
        check_gauge(w, "intel_gpu_process_cpu_seconds_total", own, expected_process_cpu_seconds(process, w.to), 0.011);
        check_gauge(w, "intel_gpu_process_resident_memory_bytes", own,
                    static_cast<double>(process.resident_bytes.value(w.to)), 0);
        check_gauge(w, "intel_gpu_process_virtual_memory_bytes", own, static_cast<double>(process.virtual_bytes), 0);
        for (const EngineClassNames& names : kEngineClassNames) {
          const bool exists = std::any_of(gpu.engines.begin(), gpu.engines.end(), [&](const EngineScript& e) {
            return e.model.engine_class == names.engine_class;
          });
          if (!exists) continue;
          const Labels labels{{"device", gpu.address}, {"pid", pid}, {"class", names.label}};
          check_gauge(w, "intel_gpu_process_engine_busy_ratio", labels,
                      expected_process_busy_ratio(script, process.pid, g, names.engine_class, w.from, w.to), 1e-6);
          check_growth(w, "intel_gpu_process_engine_busy_seconds_total", labels,
                       expected_process_busy_seconds(script, process.pid, g, names.engine_class, w.from, w.to), 1e-6);
        }
        const auto info = w.page.find("intel_gpu_process_info", own);
        REQUIRE(info.size() == 1);
        CHECK(info[0]->label("container_id") == process.container_id(w.to));
        CHECK(info[0]->label("pod_uid") == process.place.pod_uid);
        CHECK(info[0]->label("cgroup") == process.cgroup(w.to));
        CHECK(info[0]->label("user") == (process.uid == 0 ? "root" : process.uid == 1000 ? "anna" : "stream"));
        double vram = 0;
        for (const ClientScript& client : script.clients) {
          if (client.pid == process.pid && client.gpu == g)
            vram += static_cast<double>(client.local_memory(w.to).resident);
        }
        if (gpu.model.vram_bytes == 0) continue;
        const std::string_view region = gpu.model.driver == Driver::xe ? "vram0" : "local0";
        check_gauge(w, "intel_gpu_process_memory_bytes",
                    {{"device", gpu.address}, {"pid", pid}, {"memory_region", region}, {"state", "resident"}}, vram, 0);
      }
      check_gauge(w, "intel_gpu_processes", {{"device", gpu.address}}, static_cast<double>(holders), 0);
      check_gauge(w, "intel_gpu_processes_dropped", {{"device", gpu.address}}, 0, 0);
    }
  }
}

TEST_CASE("locked: what needs a permission is absent and reported so, the rest is there") {
  Watched w("locked");
  for (const auto* success : w.page.find("intel_gpu_scrape_collector_success")) {
    INFO(success->label("collector"));
    CHECK(success->value == 1);
  }
  for (const char* metric :
       {"intel_gpu_engine_busy_ratio", "intel_gpu_engine_wait_ratio", "intel_gpu_frequency_average_hertz",
        "intel_gpu_memory_used_bytes", "intel_gpu_memory_size_bytes", "intel_gpu_memory_bandwidth_bytes_total",
        "intel_gpu_process_clients"})
    check_absent(w, metric, {});
  check_absent(w, "intel_gpu_error_state",
               {{"device", w.script().gpus[0].address}});  // mode 0600; xe's can be seen by all
  for (const char* source : {"rapl_pmu", "powercap"}) check_absent(w, "intel_gpu_power_watts", {{"source", source}});
  std::size_t refused = 0;
  for (const auto* feature : w.page.find("intel_gpu_exporter_feature_available", {{"reason", "permission"}})) {
    CHECK(feature->value == 0);
    ++refused;
  }
  CHECK(refused >= 6);
  for (const GpuScript& gpu : w.script().gpus) {
    const GtScript& gt = gpu.gts[0];
    INFO(gpu.address);
    check_gauge(w, "intel_gpu_frequency_hertz", {{"device", gpu.address}, {"gt", "0"}, {"kind", "actual"}},
                expected_actual_hertz(gt, w.to), 0);
    check_gauge(w, "intel_gpu_rc6_residency_ratio", {{"device", gpu.address}, {"gt", "0"}},
                expected_rc6_ratio(gt, w.from, w.to), 2e-4);
  }
  const GpuScript& card = w.script().gpus[1];
  check_gauge(w, "intel_gpu_power_watts", {{"device", card.address}, {"domain", "card"}, {"source", "hwmon"}},
              expected_watts(card.card_microwatts, w.from, w.to), 1e-3);
}

namespace {

// A monitor over one machine, scraped on request.
struct Scraped {
  explicit Scraped(MachineScript script) : parts(std::make_shared<SimulatedParts>(std::move(script))) {
    monitor = make_monitor(parts, {}, log);
  }
  const Exposition& after(Nanoseconds time) {
    parts->clock.advance(time);
    const auto result = monitor->scrape({});
    std::string text;
    exporter::write_prometheus_text(PageView(result->lists()), text);
    return page = parse_prometheus_text(text);
  }
  double sum(std::string_view metric, std::string_view cls) const {
    double sum = 0;
    for (const auto* sample : page.find(metric, {{"class", cls}})) sum += sample->value;
    return sum;
  }
  bool is(std::string_view feature, std::string_view reason) const {
    return page.find("intel_gpu_exporter_feature_available", {{"feature", feature}, {"reason", reason}}).size() == 1;
  }

  RecordingLog log;
  std::shared_ptr<SimulatedParts> parts;
  std::unique_ptr<Monitor> monitor;
  Exposition page;
};

constexpr const char* kBusy = "intel_gpu_engine_busy_seconds_total";
constexpr const char* kBusyRatio = "intel_gpu_engine_busy_ratio";

// An idle Battlemage with its GTs in C6.
MachineScript idle_battlemage() {
  MachineScript script = *script_of_profile("battlemage");
  script.clients.clear();
  for (GpuScript& gpu : script.gpus) {
    for (EngineScript& engine : gpu.engines) engine.busy = engine.own = Course();
    for (GtScript& gt : gpu.gts) {
      gt.awake = Course();
      gt.asleep = Course(1'000'000'000);
    }
  }
  return script;
}

}  // namespace

TEST_CASE("an idle, awake xe GPU is idle on every page: 0, not nothing") {
  Scraped s(idle_battlemage());
  for (int i = 0; i < 20; ++i) {
    s.after(i % 2 == 0 ? Nanoseconds(15s) : 200ms);
    INFO(i);
    CHECK(s.is("engine_busy", "ok"));
    for (const EngineClassNames& names : kEngineClassNames) {
      INFO(names.label);
      CHECK(s.page.find(kBusy, {{"class", names.label}}).size() >= 1);
      CHECK(s.sum(kBusy, names.label) == 0);
      if (i == 0) continue;  // no window yet
      CHECK(s.page.find(kBusyRatio, {{"class", names.label}}).size() >= 1);
      CHECK(s.sum(kBusyRatio, names.label) == 0);
    }
  }
}

TEST_CASE("while the PMU of an xe GPU takes over from fdinfo every scraper has every class from one source") {
  Scraped s(*script_of_profile("battlemage"));
  const GpuScript& gpu = s.parts->simulated->script().gpus[0];
  s.after(0s);
  std::map<std::string_view, double> before;
  Nanoseconds at{};
  for (const Nanoseconds step : {Nanoseconds(5s), Nanoseconds(300ms), Nanoseconds(300ms), Nanoseconds(300ms),
                                 Nanoseconds(300ms), Nanoseconds(300ms), Nanoseconds(15s), Nanoseconds(100ms)}) {
    const ScriptTime earlier = s.parts->simulated->script_time(s.parts->clock.now());
    s.after(step);
    at += step;
    const ScriptTime now = s.parts->simulated->script_time(s.parts->clock.now());
    INFO(to_seconds(at).value);
    for (const EngineClassNames& names : kEngineClassNames) {
      INFO(names.label);
      const auto ratios = s.page.find(kBusyRatio, {{"class", names.label}});
      REQUIRE(!ratios.empty());
      for (const auto* ratio : ratios) {
        CHECK(ratio->label("source") == ratios[0]->label("source"));
        CHECK(ratio->value > 0);
        CHECK(ratio->value <= 1);
      }
      // Both counters include the kernel's own engine time, which belongs to no client.
      double expected = 0;
      for (const EngineScript& engine : gpu.engines)
        if (engine.model.engine_class == names.engine_class)
          expected += expected_engine_busy_seconds(gpu, engine.name, earlier, now);
      const double sum = s.sum(kBusy, names.label);
      if (at > 5s) CHECK(std::abs(sum - before[names.label] - expected) < 0.001 + 0.02 * expected);
      CHECK(sum >= before[names.label]);
      before[names.label] = sum;
    }
  }
  CHECK(s.page.find(kBusyRatio, {{"source", "pmu"}}).size() == gpu.engines.size());
}

TEST_CASE("asleep: a hundred scrapes resume nothing, and show nothing that needs a resume") {
  Watched w("asleep");
  for (int i = 0; i < 100; ++i) w.page = w.scrape();
  CHECK(w.parts->simulated->resumes() == 0);
  for (const GpuScript& gpu : w.script().gpus) {
    INFO(gpu.address);
    check_gauge(w, "intel_gpu_runtime_suspended", {{"device", gpu.address}}, 1, 0);
    for (const char* metric :
         {"intel_gpu_engine_busy_ratio", "intel_gpu_frequency_hertz", "intel_gpu_rc6_residency_ratio",
          "intel_gpu_power_watts", "intel_gpu_temperature_celsius", "intel_gpu_memory_used_bytes",
          "intel_gpu_pcie_link_width_lanes"})
      check_absent(w, metric, {{"device", gpu.address}});
    for (const auto* feature : w.page.find("intel_gpu_exporter_feature_available", {{"device", gpu.address}})) {
      INFO(feature->label("feature"));
      if (gpu.model.driver == Driver::xe && feature->label("feature") == "hang_events") {
        CHECK(feature->label("reason") == "disabled");  // it belongs to the collector jobs, which is off
        continue;
      }
      CHECK((feature->label("reason") == "suspended" || feature->label("reason") == "ok" ||
             feature->label("reason") == "hardware" || feature->label("reason") == "kernel"));
    }
  }
  CHECK(w.log.count(LogLevel::error) == 0);
}

TEST_SUITE_END();
