// SPDX-License-Identifier: Apache-2.0
// Workloads of the simulated rack: short jobs, a pod that restarts, a shell script with children, a client shared by
// two processes. What the page must say is computed here from the script and the times of the scrapes, without
// collectors.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fake/simulation/simulation.h"
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

constexpr const char* kBusy = "intel_gpu_workload_engine_busy_seconds_total";
constexpr const char* kCpu = "intel_gpu_workload_cpu_seconds_total";

// The rack with workloads, scraped in regular intervals.
struct Rack {
  explicit Rack(const std::string& flag = {}, const std::string& flag_value = {}, bool counts_jobs = false) {
    MonitorOptions options;
    options.min_window = 1ms;
    options.collectors = {{"workloads", true}, {"host", true}};
    if (counts_jobs) options.collectors["jobs"] = true;
    if (!flag.empty()) options.collector_options[flag] = {flag_value};
    monitor = make_monitor(parts, options, log);
  }
  void scrape() {
    last = monitor->scrape({});
    scrapes.push_back(parts->simulated->script_time(parts->clock.now()));
  }
  void scrape_for(Nanoseconds time, Nanoseconds interval) {
    scrape();
    for (Nanoseconds past{}; past < time; past += interval) {
      parts->clock.advance(interval);
      scrape();
    }
    read();
  }
  // The page of the last scrape.
  void read() {
    std::string text;
    exporter::write_prometheus_text(PageView(last->lists()), text);
    page = parse_prometheus_text(text);
  }
  const MachineScript& script() const { return parts->simulated->script(); }

  RecordingLog log;
  std::shared_ptr<SimulatedParts> parts = std::make_shared<SimulatedParts>("rack");
  std::unique_ptr<Monitor> monitor;
  std::shared_ptr<const ScrapeResult> last;
  Exposition page;
  std::vector<ScriptTime> scrapes;
};

// What the scrapes can know of something that exists for a lifetime and counts upwards: all of those that began after
// the first scrape, up to the last scrape at which each still existed.
double seen(const Lifetime& life, const std::vector<ScriptTime>& scrapes,
            const std::function<double(ScriptTime)>& count) {
  double sum = 0;
  for (std::size_t i = 0; i < scrapes.size(); ++i) {
    if (!life.exists(scrapes[i])) continue;
    const bool is_last = i + 1 == scrapes.size() || !life.is_same(scrapes[i], scrapes[i + 1]);
    if (is_last) sum += count(scrapes[i]);
    if (i == 0) sum -= count(scrapes[i]);
  }
  return sum;
}

// By default a process' workload is its pod, container or unit.
std::string workload_of(const ProcessScript& process) {
  const PlaceScript& place = process.place;
  if (!place.pod.empty()) return place.name_space + "/" + place.pod;
  return place.container.empty() ? place.systemd_unit : place.container;
}

double engine_seconds(const Rack& rack, std::size_t gpu, EngineClass engine_class,
                      const std::function<bool(const ProcessScript&)>& belongs) {
  double sum = 0;
  for (const ClientScript& client : rack.script().clients) {
    if (client.gpu != gpu || !belongs(*rack.script().process(client.pid))) continue;
    sum += seen(client.open, rack.scrapes, [&](ScriptTime t) {
      return static_cast<double>(client.engine_nanoseconds(rack.script().gpus[gpu], engine_class, t)) * 1e-9;
    });
  }
  return sum;
}

double engines_busy(const Rack& rack, const GpuScript& gpu, EngineClass engine_class) {
  double sum = 0;
  for (const EngineScript& engine : gpu.engines)
    if (engine.model.engine_class == engine_class)
      sum += expected_engine_busy_seconds(gpu, engine.name, rack.scrapes.front(), rack.scrapes.back());
  return sum;
}

bool has_class(const GpuScript& gpu, EngineClass engine_class) {
  return std::any_of(gpu.engines.begin(), gpu.engines.end(),
                     [&](const EngineScript& engine) { return engine.model.engine_class == engine_class; });
}

double value(const Rack& rack, const char* metric, Exposition::LabelFilter labels) {
  return rack.page.value(metric, labels).value_or(-1);
}

const std::vector<std::string> kWorkloads{"jellyfin",          "live/ingest-6d9fb7c58-q4xzt", "live/recorder-0",
                                          "vision/detector-0", "packager@news.service",       "control-room.service",
                                          "wayvnc.service"};

}  // namespace

TEST_SUITE_BEGIN("workloads of the rack");

TEST_CASE("engine seconds of every workload, through jobs that end and a pod that restarts; the rest is unattributed") {
  // How often: what is lost of short jobs must be unattributed.
  Nanoseconds interval{};
  SUBCASE("every second") { interval = 1s; }
  SUBCASE("every 15 seconds") { interval = 15s; }
  CAPTURE(interval.count());
  Rack rack;
  rack.scrape_for(interval == 1s ? 310s : 630s, interval);
  for (std::size_t g = 0; g < rack.script().gpus.size(); ++g) {
    const GpuScript& gpu = rack.script().gpus[g];
    for (const EngineClassNames& names : kEngineClassNames) {
      if (!has_class(gpu, names.engine_class)) continue;
      INFO(gpu.address << " " << names.label);
      double attributed = 0;
      for (const std::string& workload : kWorkloads) {
        const double expected = engine_seconds(rack, g, names.engine_class, [&](const ProcessScript& process) {
          return workload_of(process) == workload;
        });
        attributed += expected;
        const auto shown =
            rack.page.value(kBusy, {{"device", gpu.address}, {"workload", workload}, {"class", names.label}});
        INFO(workload);
        CHECK(shown.value_or(0) == doctest::Approx(expected).epsilon(1e-6));
        if (expected > 0) CHECK(shown);
      }
      const double rest = engines_busy(rack, gpu, names.engine_class) - attributed;
      CHECK(rest >= -1e-6);
      const double unattributed =
          value(rack, kBusy, {{"device", gpu.address}, {"workload", "unattributed"}, {"class", names.label}});
      // xe's clock rate is known after a few scrapes; until then nothing is unattributed.
      CHECK(unattributed >= 0);
      CHECK(std::abs(unattributed - rest) <= 0.01 * engines_busy(rack, gpu, names.engine_class) + 1e-6);
    }
  }
  std::size_t workloads = 0;
  for (const auto* info : rack.page.find("intel_gpu_workload_info")) {
    CHECK(std::count(kWorkloads.begin(), kWorkloads.end(), info->label("workload")) == 1);
    ++workloads;
  }
  CHECK(workloads == kWorkloads.size());
}

TEST_CASE("a channel has whole pictures at its rate, and none in three seconds of each minute") {
  Rack rack({}, {}, true);
  rack.scrape_for(15s, 1s);
  struct Channel {
    std::size_t gpu;
    const char* pid;  // "": a whole workload
    double per_second;
  };
  // A decoder and three encoders of its pictures, field pictures, 29.97, 59.94; all of them are in one pod.
  const std::vector<Channel> channels{{0, "5120", 25},
                                      {1, "5120", 75},
                                      {2, "5121", 50},
                                      {2, "5122", 30000 / 1001.0},
                                      {1, "5130", 60000 / 1001.0},
                                      {0, "", 25},
                                      {1, "", 75 + 60000 / 1001.0},
                                      {2, "", 50 + 30000 / 1001.0}};
  const auto jobs = [&](const Channel& channel) {
    const std::string& device = rack.script().gpus[channel.gpu].address;
    if (*channel.pid == '\0')
      return value(rack, "intel_gpu_workload_video_jobs_total",
                   {{"device", device}, {"workload", "live/ingest-6d9fb7c58-q4xzt"}});
    return value(rack, "intel_gpu_process_video_jobs_total", {{"device", device}, {"pid", channel.pid}});
  };
  std::vector<double> before, last;
  for (const Channel& channel : channels) before.push_back(jobs(channel));
  last = before;
  std::vector<int> still(channels.size()), at_rate(channels.size());
  for (int second = 0; second < 60; ++second) {
    rack.parts->clock.advance(1s);
    rack.scrape();
    rack.read();
    for (std::size_t i = 0; i < channels.size(); ++i) {
      const double now = jobs(channels[i]);
      still[i] += now == last[i];
      at_rate[i] += std::abs(now - last[i] - channels[i].per_second) <= 3;  // three counts of whole jobs
      last[i] = now;
    }
  }
  for (std::size_t i = 0; i < channels.size(); ++i) {
    CAPTURE(i);
    const bool is_process = *channels[i].pid != '\0';
    CHECK(std::abs(last[i] - before[i] - 57 * channels[i].per_second) <= 3);
    if (is_process) CHECK(still[i] >= 2);
    if (is_process) CHECK(at_rate[i] >= 56);
  }
}

TEST_CASE("a job of three seconds between two scrapes shows if a scrape finds it, and as a start") {
  Rack rack;
  rack.scrape_for(300s, 1s);
  CHECK(value(rack, "intel_gpu_workload_started_total", {{"workload", "packager@news.service"}}) == 7);
  CHECK(value(rack, "intel_gpu_workload_started_total", {{"workload", "live/recorder-0"}}) == 2);
  CHECK(value(rack, "intel_gpu_workload_started_total", {{"workload", "jellyfin"}}) == 0);
}

TEST_CASE("a client that two units hold is one, and counts for the one that opened it") {
  Rack rack;
  rack.scrape_for(30s, 15s);
  const std::string& gpu = rack.script().gpus[0].address;
  CHECK(value(rack, "intel_gpu_workload_clients", {{"device", gpu}, {"workload", "control-room.service"}}) == 1);
  CHECK(value(rack, "intel_gpu_workload_clients", {{"device", gpu}, {"workload", "wayvnc.service"}}) == 1);
  CHECK(value(rack, kBusy, {{"device", gpu}, {"workload", "control-room.service"}, {"class", "render"}}) > 1);
  CHECK(value(rack, kBusy, {{"device", gpu}, {"workload", "wayvnc.service"}, {"class", "render"}}) == 0);
}

TEST_CASE("a workload's processors, memory and disk are those of the processes below its members") {
  Rack rack;
  rack.scrape_for(60s, 5s);
  const ScriptTime from = rack.scrapes.front(), to = rack.scrapes.back();
  double cpu = 0, resident = 0, read = 0, processes = 0;
  for (const ProcessScript& process : rack.script().processes) {
    if (workload_of(process) != "vision/detector-0") continue;  // two of them use no GPU
    ++processes;
    cpu += expected_process_cpu_seconds(process, to) - expected_process_cpu_seconds(process, from);
    resident += static_cast<double>(process.resident_bytes.value(to));
    read += static_cast<double>(process.read_bytes.integral(to) - process.read_bytes.integral(from));
  }
  const std::string_view name = "vision/detector-0";
  CHECK(processes == 5);
  CHECK(value(rack, "intel_gpu_workload_processes", {{"workload", name}}) == processes);
  CHECK(value(rack, "intel_gpu_workload_resident_memory_bytes", {{"workload", name}}) == resident);
  CHECK(value(rack, "intel_gpu_workload_disk_read_bytes_total", {{"workload", name}}) == read);
  const double shown = value(rack, kCpu, {{"workload", name}, {"mode", "user"}}) +
                       value(rack, kCpu, {{"workload", name}, {"mode", "system"}});
  CHECK(std::abs(shown - cpu) < 0.03 * processes);
}

TEST_CASE("a script with its children, also those that have ended, is one tree: nothing is lost or counted twice") {
  Nanoseconds interval{};
  SUBCASE("every second") { interval = 1s; }
  SUBCASE("every 15 seconds") { interval = 15s; }
  CAPTURE(interval.count());
  Rack rack("workload.tree", "news=9001");
  rack.scrape_for(interval == 1s ? 300s : 600s, interval);
  const ScriptTime from = rack.scrapes.front(), to = rack.scrapes.back();
  const auto below = [](const ProcessScript& process) { return process.pid == 9001 || process.parent == 9001; };
  double cpu = 0, written = 0;
  for (const ProcessScript& process : rack.script().processes) {
    if (!below(process)) continue;
    // Whatever a scrape has not seen of a child that has ended is in its parent's counters.
    cpu += static_cast<double>(process.cpu.integral(to) - process.cpu.integral(from)) * 1e-9;
    written += static_cast<double>(process.written_bytes.integral(to) - process.written_bytes.integral(from));
  }
  const double shown = value(rack, kCpu, {{"workload", "news"}, {"mode", "user"}}) +
                       value(rack, kCpu, {{"workload", "news"}, {"mode", "system"}});
  CHECK(shown == doctest::Approx(cpu).epsilon(0.002));
  CHECK(value(rack, "intel_gpu_workload_disk_written_bytes_total", {{"workload", "news"}}) ==
        doctest::Approx(written).epsilon(0.002));
  const GpuScript& gpu = rack.script().gpus[0];
  CHECK(value(rack, kBusy, {{"device", gpu.address}, {"workload", "news"}, {"class", "video"}}) ==
        doctest::Approx(engine_seconds(rack, 0, EngineClass::video, below)).epsilon(1e-6));
  CHECK(rack.page.find("intel_gpu_workload_info", {{"workload", "packager@news.service"}}).empty());
}

TEST_CASE("a container that was started again is the same workload, and its info names the present one") {
  Rack rack("workload.by", "container");
  const std::string_view name = "live/recorder-0/recorder";
  const ProcessScript& first = *rack.script().process(9101);
  const ProcessScript& second = *rack.script().process(9102);
  double before = 0;
  for (int i = 0; i < 110; ++i) {
    rack.scrape();
    rack.read();
    const ScriptTime now = rack.scrapes.back();
    const double busy = rack.page.value(kBusy, {{"workload", name}, {"class", "video"}}).value_or(0);
    CHECK(busy >= before);
    before = busy;
    for (const ProcessScript* process : {&first, &second}) {
      if (!process->life.exists(now) || !process->life.exists(now - 6s)) continue;
      const auto info = rack.page.find("intel_gpu_workload_info", {{"workload", name}});
      REQUIRE(info.size() == 1);
      CHECK(info[0]->label("container_id") == process->container_id(now));
    }
    rack.parts->clock.advance(4s);
  }
  CHECK(before > 50);
}

TEST_CASE("processors of the host") {
  Rack rack;
  rack.scrape();
  rack.read();
  const auto in_use = [&] {
    double sum = 0;
    for (const auto* sample : rack.page.find("intel_gpu_host_cpu_seconds_total"))
      if (sample->label("mode") != "idle" && sample->label("mode") != "iowait") sum += sample->value;
    return sum;
  };
  const double before = in_use();
  rack.scrape_for(60s, 15s);
  double expected = 0;
  for (const Course& busy : rack.script().host.busy)
    expected += static_cast<double>(busy.integral(rack.scrapes.back()) - busy.integral(rack.scrapes.front())) * 1e-9;
  CHECK(in_use() - before == doctest::Approx(expected).epsilon(0.002));
  const auto running = std::count_if(rack.script().processes.begin(), rack.script().processes.end(),
                                     [&](const auto& p) { return p.life.exists(rack.scrapes.back()); });
  CHECK(value(rack, "intel_gpu_host_processes", {}) == static_cast<double>(running));
}

TEST_CASE("hangs by kind, class, process and workload") {
  Rack rack;
  rack.scrape_for(25min, 15s);
  REQUIRE(rack.script().hangs.size() == 2);
  for (const HangScript& hang : rack.script().hangs) {
    const GpuScript& gpu = rack.script().gpus[hang.gpu];
    const ProcessScript& process = *rack.script().process(hang.pid);
    const auto expected = static_cast<double>(hang.count(rack.scrapes.back()) - hang.count(rack.scrapes.front()));
    INFO(gpu.address << " " << process.comm);
    CHECK(expected >= 2);
    const std::string kind = gpu.model.driver == Driver::xe ? "job_timeout" : "hang";
    CHECK(value(rack, "intel_gpu_hangs_total",
                {{"device", gpu.address}, {"kind", kind}, {"class", std::string(to_string(hang.engine_class))}}) ==
          expected);
    CHECK(value(rack, "intel_gpu_process_hangs_total",
                {{"device", gpu.address}, {"pid", std::to_string(process.pid)}, {"comm", process.comm}}) == expected);
    CHECK(value(rack, "intel_gpu_workload_hangs_total",
                {{"device", gpu.address}, {"workload", workload_of(process)}, {"kind", kind}}) == expected);
    // Its boot time is in /proc/stat.
    constexpr double kBoot = 1764000000;
    const double last = kBoot + to_seconds(hang.time(hang.count(rack.scrapes.back()) - 1)).value;
    const double shown =
        value(rack, "intel_gpu_last_fault_timestamp_seconds", {{"device", gpu.address}, {"kind", kind}});
    CHECK(std::abs(shown - last) < 0.01);
  }
  CHECK(rack.page.find("intel_gpu_workload_hangs_total").size() == 2);
}

TEST_SUITE_END();
