// SPDX-License-Identifier: Apache-2.0
#include "igpu/model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "igpu/error.h"
#include "igpu/monitor.h"
#include "igpu/values.h"
#include "model/fields.h"

using namespace igpu;
using namespace igpu::snapshot;

namespace {

using Labels = std::vector<LabelPair>;

struct Page {
  explicit Page(CleanText clean = nullptr) : reader(clean) {}
  Page& add(std::string_view metric, Labels labels, double value) {
    labels.push_back({"device", "d"});
    reader.add(metric, labels, value);
    return *this;
  }
  GpuModel gpu() {
    HostModel host = reader.finish();
    REQUIRE(host.gpus.size() == 1);
    return std::move(host.gpus.front());
  }

  ModelReader reader;
};

Labels engine(std::string_view name, std::string_view source) {
  return {{"gt", source == "pmu" ? "0" : ""}, {"engine", name}, {"class", "video"}, {"source", source}};
}

std::string without_controls(std::string_view text) {
  std::string clean(text);
  std::replace(clean.begin(), clean.end(), '\033', '?');
  return clean;
}

}  // namespace

TEST_SUITE_BEGIN("model");

TEST_CASE("every metric of every collector has a field or is left out on purpose, and every field has a metric") {
  std::map<std::string_view, const MetricDescriptor*> metrics;
  const std::set<std::string_view> of_no_gpu_view{"host", "jobs", "level_zero"};
  for (const CollectorDescription& collector : describe_collectors())
    for (const MetricDescriptor* metric : collector.metrics)
      if (!of_no_gpu_view.contains(collector.name)) metrics[metric->name] = metric;
  const auto left_out = model::metrics_left_out();
  for (const auto& metric : metrics) {
    const std::string_view name = metric.first;
    INFO(name);
    const bool out = std::find(left_out.begin(), left_out.end(), name) != left_out.end();
    CHECK(model::fields_of(name).empty() == out);
  }
  for (const std::string_view name : left_out) CHECK(metrics.contains(name));
  std::set<std::string_view> paths;
  for (const model::Field& field : model::fields()) {
    INFO(field.path);
    CHECK(paths.insert(field.path).second);
    const auto of_metric = model::fields_of(field.metric);
    CHECK((&field >= of_metric.data() && &field < of_metric.data() + of_metric.size()));
    const auto metric = metrics.find(field.metric);
    if (metric == metrics.end()) {  // of the registry, or of a collector above
      const std::set<std::string_view> others{"feature", "feature.missing", "collector.failed", "process.video_jobs"};
      CHECK(others.contains(field.path));
      continue;
    }
    const auto& names = metric->second->label_names;
    for (const std::string_view label : field.labels)
      CHECK((label.empty() || label == "source" || std::find(names.begin(), names.end(), label) != names.end()));
  }
}

TEST_CASE("a GT that reports only that it is throttled is throttled, without a reason") {
  Page page;
  page.add("intel_gpu_throttled", {{"gt", "0"}, {"reason", "any"}}, 1);
  page.add("intel_gpu_throttled", {{"gt", "1"}, {"reason", "any"}}, 1);
  page.add("intel_gpu_throttled", {{"gt", "1"}, {"reason", "pl1"}}, 1);
  page.add("intel_gpu_throttled", {{"gt", "2"}, {"reason", "any"}}, 0);
  const GpuModel gpu = page.gpu();
  REQUIRE(gpu.throttling);
  REQUIRE(gpu.throttling->size() == 3);
  CHECK((*gpu.throttling)[0].limited);
  CHECK(throttle_reasons((*gpu.throttling)[0]) == std::vector<std::string_view>{"no reason given"});
  CHECK(throttle_reasons((*gpu.throttling)[1]) == std::vector<std::string_view>{"pl1"});
  CHECK(throttle_reasons((*gpu.throttling)[2]).empty());
}

TEST_CASE("while xe changes its source, the mean of a class is that of the engines' own counters") {
  Page page;
  page.add("intel_gpu_engine_busy_ratio", engine("video", "fdinfo"), 1);
  page.add("intel_gpu_engine_busy_ratio", engine("vcs0", "pmu"), 0.25);
  page.add("intel_gpu_engine_busy_ratio", engine("vcs1", "pmu"), 0.75);
  const GpuModel gpu = page.gpu();
  REQUIRE(gpu.busy(EngineClass::video));
  CHECK(gpu.busy(EngineClass::video)->value == 0.5);
  CHECK(gpu.engine_classes->front().engines == 2);
}

TEST_CASE(
    "what a workload's cgroups were charged stands in for clients that are not visible, and is not added to theirs") {
  Page page;
  const auto memory = [&](std::string_view workload, std::string_view source, double bytes) {
    page.add("intel_gpu_workload_memory_bytes",
             {{"workload", workload}, {"memory_region", "vram0"}, {"state", "resident"}, {"source", source}}, bytes);
  };
  page.add("intel_gpu_workload_clients", {{"workload", "visible"}}, 1);
  memory("visible", "fdinfo", 7);
  memory("visible", "dmem", 9);
  memory("hidden", "dmem", 5);
  const GpuModel gpu = page.gpu();
  REQUIRE(gpu.workloads.size() == 2);
  for (const snapshot::WorkloadUse& use : gpu.workloads)
    CHECK(resident(use.memory)->value == (use.workload == "visible" ? 7 : 5));
}

TEST_CASE("what the GPU draws, its limit and its memory are chosen once for all views") {
  Page page;
  const auto power = [&](std::string_view domain, double watts) {
    page.add("intel_gpu_power_watts", {{"domain", domain}, {"source", "hwmon"}}, watts);
  };
  power("package", 30);
  power("card", 45);
  page.add("intel_gpu_power_limit_watts", {{"domain", "package"}, {"limit", "max"}}, 60);
  page.add("intel_gpu_power_limit_watts", {{"domain", "card"}, {"limit", "crit"}}, 90);
  page.add("intel_gpu_power_limit_watts", {{"domain", "card"}, {"limit", "cap"}}, 75);
  page.add("intel_gpu_memory_size_bytes", {{"memory_region", "system"}}, 1000);
  page.add("intel_gpu_memory_size_bytes", {{"memory_region", "vram0"}}, 100);
  page.add("intel_gpu_memory_size_bytes", {{"memory_region", "vram1"}}, 100);
  page.add("intel_gpu_memory_used_bytes", {{"memory_region", "vram0"}}, 40);
  const GpuModel gpu = page.gpu();
  const Power* const draw = draw_of(gpu);
  REQUIRE(draw != nullptr);
  CHECK(draw->domain == "card");
  REQUIRE(power_limit_of(gpu) != nullptr);
  CHECK(power_limit_of(gpu)->value.value == 75);  // of the domain that it draws in
  CHECK(power_limit_of(gpu, "package")->value.value == 60);
  const MemoryUse memory = memory_of(gpu);
  CHECK(memory.own);
  CHECK(memory.size->value == 200);
  CHECK_FALSE(memory.used);  // of one region it is not known
}

TEST_CASE("without power by domain, limits or memory there is nothing to choose") {
  const GpuModel gpu;
  CHECK(draw_of(gpu) == nullptr);
  CHECK(power_limit_of(gpu) == nullptr);
  CHECK_FALSE(memory_of(gpu).size);
  CHECK(measured_engines(gpu).empty());
  CHECK(throttle_reasons(gpu).empty());
}

TEST_CASE("a class that the PMU covers is not shown a second time by the processes' use") {
  Page page;
  page.add("intel_gpu_engine_busy_ratio", engine("video", "fdinfo"), 1);
  page.add("intel_gpu_engine_busy_ratio", engine("vcs0", "pmu"), 0.25);
  page.add("intel_gpu_engine_busy_ratio", {{"gt", ""}, {"engine", "copy"}, {"class", "copy"}, {"source", "fdinfo"}},
           0.5);
  const GpuModel gpu = page.gpu();
  std::vector<std::string> names;
  for (const Engine* one : measured_engines(gpu)) names.push_back(one->name);
  CHECK(names == std::vector<std::string>{"copy", "vcs0"});
}

TEST_CASE("hangs, their causes, resets and PCIe errors of a GPU") {
  Page page;
  page.add("intel_gpu_hangs_total", {{"kind", "engine_reset"}, {"class", "video"}}, 2);
  page.add("intel_gpu_hangs_total", {{"kind", "hang"}, {"class", ""}}, 1);
  page.add("intel_gpu_process_hangs_total", {{"pid", "42"}, {"comm", "ffmpeg"}}, 3);
  page.add("intel_gpu_resets_total", {{"kind", "gpu"}}, 1);
  page.add("intel_gpu_resets_total", {{"kind", "flr"}}, 2);
  page.add("intel_gpu_pcie_errors_total", {{"port", "endpoint"}, {"severity", "correctable"}, {"type", "a"}}, 100);
  page.add("intel_gpu_pcie_errors_total", {{"port", "endpoint"}, {"severity", "fatal"}, {"type", "b"}}, 4);
  const GpuModel gpu = page.gpu();
  REQUIRE(gpu.hangs.size() == 2);
  CHECK(gpu.hangs[0].engine_class == "video");
  CHECK(gpu.hangs[0].count.value == 2);
  REQUIRE(gpu.hang_causes.size() == 1);
  CHECK(gpu.hang_causes[0].pid == 42);
  CHECK(gpu.resets->value == 3);
  CHECK(gpu.uncorrectable_pcie_errors->value == 4);
}

TEST_CASE("a value that the page does not have is absent for the reason that the page gives") {
  Page page;
  page.add("intel_gpu_exporter_feature_available", {{"feature", "power"}, {"reason", "permission"}}, 0);
  page.add("intel_gpu_memory_size_bytes", {{"memory_region", "vram0"}}, 100);
  page.reader.add("intel_gpu_scrape_collector_success", Labels{{"collector", "hwmon"}}, 0);
  const GpuModel gpu = page.gpu();
  REQUIRE(gpu.power.is_absent());
  CHECK(gpu.power.absent().reason == Reason::permission);
  CHECK(gpu.temperatures.is_failure());
  REQUIRE(gpu.memory);
  CHECK(gpu.memory->front().size->value == 100);
  CHECK_FALSE(gpu.memory->front().used);
}

TEST_CASE("a page that is not trusted: text is cleaned, ratios are limited, and so is the number of rows") {
  Page page(without_controls);
  page.add("intel_gpu_engine_busy_ratio", engine("vcs0", "pmu"), 7);
  page.add("intel_gpu_fan_speed_rpm", {{"fan", "\033[2J"}}, 100);
  page.add("intel_gpu_fan_speed_rpm", {{"fan", "\033[2J"}}, 200);
  std::vector<std::string> sensors;
  for (int i = 0; i < 200; ++i) sensors.push_back(std::to_string(i));
  for (const std::string& sensor : sensors) page.add("intel_gpu_temperature_celsius", {{"sensor", sensor}}, 50);
  const GpuModel gpu = page.gpu();
  CHECK(gpu.busy(EngineClass::video)->value == 1);
  REQUIRE(gpu.fans->size() == 1);
  CHECK(gpu.fans->front().name == "?[2J");
  CHECK(gpu.fans->front().speed.value == 200);
  CHECK(gpu.temperatures->size() == 128);
}

TEST_CASE("virtual functions: by number, and by class the mean over the engines") {
  Page page;
  page.add("intel_gpu_vfs", {{"state", "enabled"}}, 2).add("intel_gpu_vfs", {{"state", "total"}}, 24);
  const auto busy = [&](std::string_view vf, std::string_view engine, std::string_view engine_class, double ratio) {
    page.add("intel_gpu_vf_engine_busy_ratio", {{"vf", vf}, {"gt", "1"}, {"engine", engine}, {"class", engine_class}},
             ratio);
  };
  busy("10", "vcs0", "video", 0.5);
  busy("10", "vcs1", "video", 0.25);
  busy("10", "ccs0", "compute", 1);
  busy("10", "x0", "unknown", 1);
  page.add("intel_gpu_vf_info",
           {{"vf", "10"}, {"vf_address", "0000:03:01.2"}, {"driver", "vfio-pci"}, {"workload", "news"}}, 1);
  page.add("intel_gpu_vf_info", {{"vf", "2"}, {"vf_address", "0000:03:00.2"}, {"driver", "none"}}, 1);
  page.add("intel_gpu_vf_exec_quantum_seconds", {{"vf", "10"}}, 0.02);
  const GpuModel gpu = page.gpu();
  CHECK(gpu.functions_enabled->value == 2);
  CHECK(gpu.functions_total->value == 24);
  REQUIRE(gpu.functions.size() == 2);
  CHECK(gpu.functions[0].number == 2);
  CHECK(gpu.functions[0].driver == "none");
  CHECK(gpu.functions[0].busy.empty());
  const VirtualFunction& news = gpu.functions[1];
  CHECK(news.address == "0000:03:01.2");
  CHECK(news.workload == "news");
  CHECK(news.exec_quantum->value == 0.02);
  REQUIRE(news.busy.size() == 2);
  CHECK(news.busy[0].engine_class == EngineClass::video);
  CHECK(news.busy[0].engines == 2);
  CHECK(news.busy[0].busy->value == 0.375);
  CHECK(news.busy[1].busy->value == 1);
}

TEST_CASE("rows are found whatever the order of their samples") {
  std::vector<std::string> pids;
  for (int i = 0; i < 300; ++i) pids.push_back(std::to_string(1000 - i));
  Page page;
  for (const std::string& pid : pids) page.add("intel_gpu_process_clients", {{"pid", pid}, {"comm", "a"}}, 1);
  std::reverse(pids.begin(), pids.end());
  for (std::size_t i = 0; i < pids.size(); ++i)
    page.add("intel_gpu_process_memory_bytes",
             {{"pid", pids[i * 7 % pids.size()]}, {"comm", "a"}, {"memory_region", "vram0"}, {"state", "resident"}}, 4);
  const GpuModel gpu = page.gpu();
  REQUIRE(gpu.processes);
  REQUIRE(gpu.processes->size() == 300);
  CHECK(std::is_sorted(gpu.processes->begin(), gpu.processes->end(),
                       [](const Process& a, const Process& b) { return a.pid < b.pid; }));
  for (const Process& process : *gpu.processes) CHECK(resident(process.memory)->value == 4);
}

TEST_CASE("the feature of a field explains a list without rows, too") {
  CHECK(feature_of("engine.busy") == "engine_busy");
  CHECK(feature_of("temperature.value") == "temperature");
  CHECK(feature_of("frequency.rp0").empty());  // a driver has some of these values
  CHECK(feature_of("nothing").empty());
  Page page;
  const GpuModel gpu =
      page.add("intel_gpu_exporter_feature_available", {{"feature", "fan"}, {"reason", "hardware"}}, 0).gpu();
  REQUIRE(gpu.fans.is_absent());
  CHECK(gpu.fans.absent().reason == Reason::hardware);
}

TEST_CASE("the values of a snapshot by name: each row with its labels") {
  Page page;
  const Labels process{{"pid", "7"}, {"comm", "a\"b"}};
  page.add("intel_gpu_engine_busy_ratio", engine("vcs0", "pmu"), 0.5)
      .add("intel_gpu_engine_busy_ratio", engine("video", "fdinfo"), 0.25)
      .add("intel_gpu_runtime_suspended", {}, 0)
      .add("intel_gpu_process_clients", process, 1)
      .add("intel_gpu_processes", {}, 1)
      .add("intel_gpu_exporter_feature_available", {{"feature", "processes"}, {"reason", "ok"}}, 1);
  const GpuModel gpu = page.gpu();

  const auto texts = [&](std::string_view name) {
    std::string text;
    const auto rows = values(gpu, name);
    REQUIRE(rows);
    for (const FieldValue& row : *rows) {
      for (const FieldLabel& label : row.labels) text += std::string(label.name) + "=" + label.value + " ";
      text += std::to_string(row.value.value_or(-1)) + "\n";
    }
    return text;
  };
  CHECK(texts("engine.busy") ==
        "gt=0 engine=vcs0 class=video source=pmu 0.500000\n"
        "gt= engine=video class=video source=fdinfo 0.250000\n");
  CHECK(texts("gpu.suspended") == "0.000000\n");
  CHECK(texts("process.clients") == "pid=7 comm=a\"b 1.000000\n");

  // Of a list without rows: the reason.
  const auto fans = values(gpu, "fan.speed");
  CHECK(fans.is_absent());
  CHECK_THROWS_WITH_AS((void)values(gpu, "fan.sped"), "there is no value \"fan.sped\"", InvalidOption);
  for (const FieldName& field : field_names()) CHECK_NOTHROW((void)values(gpu, field.name));
}

TEST_CASE("the state of a GPU in a word: the worst that is true") {
  using Word = snapshot::State::Word;
  struct Given {
    std::string_view metric;
    std::vector<LabelPair> labels;
    double value;
  };
  const Given engine{"intel_gpu_engine_busy_ratio", {{"engine", "vcs0"}, {"class", "video"}, {"source", "pmu"}}, 0.5};
  Given full = engine;
  full.value = 0.93;
  const Given throttled{"intel_gpu_throttled", {{"gt", "0"}, {"reason", "pl1"}}, 1};
  const Given asleep{"intel_gpu_runtime_suspended", {}, 1};
  const Given hang{"intel_gpu_last_fault_timestamp_seconds", {{"kind", "job_timeout"}}, 9'700};
  const Given old_hang{"intel_gpu_last_fault_timestamp_seconds", {{"kind", "hang"}}, 9'000};
  const Given wedged{"intel_gpu_wedged", {}, 1};
  const Given lacks{"intel_gpu_exporter_feature_missing", {{"feature", "engine_busy"}}, 1};
  const auto state = [](std::vector<Given> given) {
    ModelReader reader;
    given.push_back(
        {"intel_gpu_info", {{"card", "card0"}, {"driver", "xe"}, {"kind", "discrete"}, {"name", "B580"}}, 1});
    for (Given& one : given) {
      one.labels.push_back({"device", "0000:03:00.0"});
      reader.add(one.metric, one.labels, one.value);
    }
    return state_of(reader.finish().gpus.front(), Seconds{10'000});
  };
  CHECK(state({engine}).word == Word::ok);
  CHECK(state({full}).word == Word::busy);
  CHECK(state({full, throttled}).word == Word::limited);
  CHECK(state({full, throttled}).why == "pl1");
  CHECK(state({engine, lacks}).word == Word::ok);  // most is readable
  CHECK(state({lacks}).word == Word::no_permission);
  CHECK(state({asleep, lacks}).word == Word::asleep);
  CHECK(state({full, throttled, hang}).word == Word::hung);
  CHECK(state({hang}).why == "job timeout");
  CHECK(state({hang}).since.value == 9'700);
  CHECK(state({engine, old_hang}).word == Word::ok);  // more than ten minutes ago
  CHECK(state({engine, wedged, old_hang}).word == Word::hung);
  CHECK(state({engine, wedged}).why == "wedged");
  CHECK(to_string(Word::no_permission) == "NO PERMISSION");
}

TEST_CASE("a card whose memory is full is limited by it") {
  ModelReader reader;
  const std::string_view device = "0000:03:00.0";
  reader.add("intel_gpu_info", std::vector<LabelPair>{{"device", device}, {"card", "card0"}, {"driver", "xe"}}, 1);
  const std::vector<LabelPair> vram{{"device", device}, {"memory_region", "vram0"}};
  reader.add("intel_gpu_memory_size_bytes", vram, 12e9);
  reader.add("intel_gpu_memory_used_bytes", vram, 11.9e9);
  const snapshot::State state = state_of(reader.finish().gpus.front(), Seconds{1});
  CHECK(to_string(state.word) == "LIMITED");
  CHECK(state.why == "memory");
}

TEST_CASE("channels are workloads; where none is known, processes") {
  const auto channels = [](bool workloads) {
    ModelReader reader;
    for (const auto& [device, card] : {std::pair("0000:03:00.0", "card1"), std::pair("0000:07:00.0", "card2")}) {
      reader.add("intel_gpu_info", std::vector<LabelPair>{{"device", device}, {"card", card}, {"driver", "xe"}}, 1);
      reader.add("intel_gpu_process_video_jobs_total",
                 std::vector<LabelPair>{{"device", device}, {"pid", "7"}, {"comm", "ffmpeg"}}, 10);
      if (workloads)
        reader.add("intel_gpu_workload_video_jobs_total",
                   std::vector<LabelPair>{{"device", device}, {"workload", "news"}}, 20);
    }
    return reader.finish().channels();
  };
  const std::vector<snapshot::Channel> named = channels(true), others = channels(false);
  REQUIRE(named.size() == 1);
  CHECK(named.front().name == "news");
  CHECK(named.front().cards == std::vector<std::string>{"card1", "card2"});
  CHECK(named.front().jobs.value == 40);
  REQUIRE(others.size() == 1);
  CHECK(others.front().name == "ffmpeg (7)");
  CHECK(others.front().jobs.value == 20);
}

TEST_CASE("the workload of a process is that of its container, pod or unit") {
  ModelReader reader;
  const auto workload = [&](std::string_view name, std::string_view kind, LabelPair by) {
    reader.add("intel_gpu_workload_info", std::vector<LabelPair>{{"workload", name}, {"kind", kind}, by}, 1);
  };
  workload("jellyfin", "container", {"container_id", "4be1"});
  workload("live/ingest", "pod", {"pod_uid", "uid-1"});
  workload("packager", "systemd_unit", {"systemd_unit", "packager.service"});
  workload("sway", "comm", {"namespace", ""});
  const HostModel host = reader.finish();
  snapshot::Process process;
  process.comm = "ffmpeg";
  CHECK(host.workload_of(process).empty());
  process.systemd_unit = "packager.service";
  CHECK(host.workload_of(process) == "packager");
  process = {};
  process.container_id = "4be1";
  CHECK(host.workload_of(process) == "jellyfin");
  process = {};
  process.container_id = "other";
  process.pod_uid = "uid-1";
  CHECK(host.workload_of(process) == "live/ingest");
  process = {};
  process.comm = "sway";
  CHECK(host.workload_of(process) == "sway");
}

TEST_SUITE_END();
