// SPDX-License-Identifier: Apache-2.0
// A simulated machine with an NPU and no GPU, through every view, compared with what its script computes.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "igpu/model.h"
#include "igpu/monitor.h"
#include "server/doctor/doctor_report.h"
#include "server/pages/page_history.h"
#include "support/exposition_parser.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"
#include "view/format/json_writer.h"
#include "view/format/text_writer.h"
#include "view/report/fixes.h"
#include "view/report/gpu_summary.h"
#include "view/stats/stats_writer.h"
#include "view/top/host_frame.h"
#include "view/top/screen.h"

using namespace igpu;
using namespace igpu::simulation;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr Nanoseconds kWindow = 10s;
const std::string kAddress = "0000:00:0b.0";

struct Watched {
  Watched() {
    MonitorOptions options;
    options.min_window = 1ms;
    monitor = make_monitor(parts, options, log);
    for (int i = 0; i < 3; ++i) scrape();
  }
  void scrape() {
    from = now();
    parts->clock.advance(kWindow);
    to = now();
    result = monitor->scrape({});
    text.clear();
    exporter::write_prometheus_text(PageView(result->lists()), text);
    page = parse_prometheus_text(text);
  }
  ScriptTime now() const { return parts->simulated->script_time(parts->clock.now()); }
  const NpuScript& script() const { return parts->simulated->script().npus.front(); }
  std::vector<Finding> findings() const { return exporter::most_useful_first(result->findings()); }

  RecordingLog log;
  std::shared_ptr<SimulatedParts> parts = std::make_shared<SimulatedParts>("npu");
  std::unique_ptr<Monitor> monitor;
  std::shared_ptr<const ScrapeResult> result;
  std::string text;
  Exposition page;
  ScriptTime from{}, to{};
};

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("npu_golden");

TEST_CASE("/metrics follows the script over a whole period: busy, idle, asleep") {
  Watched w;
  CHECK(w.monitor->gpus().empty());
  bool was_busy = false, was_asleep = false;
  for (int i = 0; i < 30; ++i) {
    w.scrape();
    const Exposition::LabelFilter npu{{"device", kAddress}};
    const double busy =
        static_cast<double>(w.script().busy.integral(w.to) / 1000 - w.script().busy.integral(w.from) / 1000) / 1e6;
    CHECK(*w.page.value("intel_npu_busy_ratio", npu) == doctest::Approx(busy / 10).epsilon(1e-9));
    CHECK(*w.page.value("intel_npu_memory_resident_bytes", npu) ==
          static_cast<double>(w.script().resident_bytes.value(w.to)));
    const bool asleep = w.script().busy.value(w.to) == 0;
    CHECK(*w.page.value("intel_npu_runtime_suspended", npu) == (asleep ? 1 : 0));
    CHECK(*w.page.value("intel_npu_frequency_hertz", {{"device", kAddress}, {"bound", "current"}}) ==
          (asleep ? 0 : 1.95e9));
    was_busy = was_busy || busy > 5;
    was_asleep = was_asleep || asleep;
  }
  CHECK(was_busy);
  CHECK(was_asleep);
  CHECK(w.page.value("intel_npu_info", {{"device", kAddress}, {"name", "Lunar Lake NPU"}}) == 1);
  CHECK(w.page.value("intel_npu_recoveries_total", {{"device", kAddress}}) == 0);
  CHECK(w.page.value("intel_gpu_exporter_devices") == 0);
  CHECK(w.log.count(LogLevel::error) == 0);
}

TEST_CASE("the model of the page and the one of its text are the same") {
  Watched w;
  const HostModel own = model_of(PageView(w.result->lists()));
  const exporter::top::HostFrame parsed = exporter::top::frame_of(std::string_view(w.text));
  CHECK(own.gpus.empty());
  CHECK(parsed.gpus.empty());
  REQUIRE(own.npus.size() == 1);
  REQUIRE(parsed.npus.size() == 1);
  for (const snapshot::Npu& npu : {own.npus.front(), parsed.npus.front()}) {
    CHECK(npu.address == kAddress);
    CHECK(npu.accel == "accel0");
    CHECK(npu.device_id == "0x643e");
    CHECK(npu.name == "Lunar Lake NPU");
    REQUIRE(npu.busy);
    CHECK(npu.busy->value == *w.page.value("intel_npu_busy_ratio"));
    CHECK(npu.resident_memory);
    CHECK(npu.max_frequency->value == 1.95e9);
    CHECK(npu.recoveries->value == 0);
  }
}

TEST_CASE("stats, JSON, the page at / and doctor show it, and miss no GPU") {
  Watched w;
  const PageView view(w.result->lists());
  const std::string table = exporter::stats_table(view, {});
  CHECK(table.starts_with(kAddress + "  Lunar Lake NPU (NPU, intel_vpu)\n"));
  CHECK(holds(table, "jobs submitted"));
  CHECK(holds(table, "1950 MHz"));
  std::string line;
  exporter::write_json_line(view, {}, line);
  CHECK(holds(line, "\"gpus\":[],\"npus\":[{\"device\":\"" + kAddress + "\",\"metrics\":{\"intel_npu_info\":"));
  const auto findings = w.findings();
  const std::string page = exporter::index_page("/metrics", {}, findings, view, Seconds{0});
  CHECK(holds(page, "<h3>Lunar Lake NPU</h3>"));
  CHECK(!holds(page, "No Intel GPU"));
  exporter::Diagnosis diagnosis;
  diagnosis.findings = findings;
  CHECK(!diagnosis.complete());
  diagnosis.npus = model_of(view).npus;
  CHECK(diagnosis.complete() == (diagnosis.missing() == 0));
  const std::string doctor = exporter::doctor_text(diagnosis);
  CHECK(holds(doctor, kAddress + "  Lunar Lake NPU"));
  CHECK(holds(doctor, "npu_busy"));
  CHECK(!holds(doctor, "No GPU to monitor"));
}

TEST_CASE("top has one line for it, at any width and detail") {
  Watched w;
  exporter::top::Frame frame;
  frame.hosts = {exporter::top::frame_of(PageView(w.result->lists()))};
  for (const exporter::top::Detail detail :
       {exporter::top::Detail::full, exporter::top::Detail::brief, exporter::top::Detail::line}) {
    const auto panel = exporter::top::draw_gpus(frame, {}, {}, {}, 100, detail);
    int lines = 0;
    for (int y = 0; y < panel.canvas.height(); ++y) lines += panel.canvas.row_text(y).starts_with("NPU  ");
    CHECK(lines == 1);
    CHECK(holds(panel.canvas.text(), "/1950 MHz"));
    CHECK(holds(panel.canvas.text(), "Lunar Lake NPU"));
    CHECK(!holds(panel.canvas.text(), "no Intel GPU"));
  }
}

TEST_SUITE_END();
