// SPDX-License-Identifier: Apache-2.0
// A simulated host whose card three virtual machines share, through every view.
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>

#include "igpu/model.h"
#include "igpu/monitor.h"
#include "server/pages/page_history.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"
#include "view/report/fixes.h"
#include "view/report/gpu_summary.h"
#include "view/stats/stats_writer.h"
#include "view/top/host_frame.h"
#include "view/top/screen.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

struct Watched {
  Watched() {
    MonitorOptions options;
    options.min_window = 1ms;
    monitor = make_monitor(parts, options, log);
    for (int i = 0; i < 3; ++i) {
      parts->clock.advance(10s);
      result = monitor->scrape({});
    }
  }
  RecordingLog log;
  std::shared_ptr<SimulatedParts> parts = std::make_shared<SimulatedParts>("hypervisor");
  std::unique_ptr<Monitor> monitor;
  std::shared_ptr<const ScrapeResult> result;
};

// How many lines hold all of these.
int lines_with(const std::string& text, std::initializer_list<std::string_view> parts) {
  int count = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    bool all = true;
    for (const std::string_view part : parts) all = all && line.find(part) != std::string::npos;
    count += all;
    begin = end + 1;
  }
  return count;
}

}  // namespace

TEST_SUITE_BEGIN("functions_golden");

TEST_CASE("stats, JSON of list, and the page at / have a line for each function, with driver, machine and use") {
  Watched w;
  const PageView view(w.result->lists());
  const HostModel host = model_of(view);
  REQUIRE(host.gpus.size() == 1);
  const GpuModel& gpu = host.gpus.front();
  CHECK(exporter::functions_enabled(gpu) == "4 of 7 enabled");
  REQUIRE(gpu.functions.size() == 4);
  const std::string table = exporter::stats_table(view, w.monitor->gpus());
  const std::string page = exporter::index_page("/metrics", w.monitor->gpus(),
                                                exporter::most_useful_first(w.result->findings()), view, Seconds{0});
  for (const snapshot::VirtualFunction& function : gpu.functions) {
    CAPTURE(function.number);
    CHECK((function.driver == "none") == function.workload.empty());
    CHECK(lines_with(table, {exporter::name_of(function), function.workload, exporter::loads_of(function)}) == 1);
    CHECK(lines_with(page, {exporter::name_of(function), function.workload, exporter::loads_of(function)}) == 1);
  }
  CHECK(exporter::loads_of(gpu.functions[0]).find("video ") != std::string::npos);
  CHECK(exporter::loads_of(gpu.functions[3]) == "idle");
  exporter::JsonWriter json;
  json.begin_object();
  exporter::write_functions(json, gpu);
  json.end_object();
  CHECK(json.take().starts_with(R"({"vfs":{"enabled":4,"total":7,"functions":[{"vf":1,"vf_address":"0000:03:00.1",)"));
}

TEST_CASE("top has a line for each function; in brief, of those that have a driver") {
  Watched w;
  exporter::top::Frame frame;
  frame.hosts = {exporter::top::frame_of(PageView(w.result->lists()))};
  const auto lines = [&](exporter::top::Detail detail) {
    return lines_with(exporter::top::draw_gpus(frame, {}, {}, {}, 100, detail).canvas.text(), {"  vf"});
  };
  CHECK(lines(exporter::top::Detail::full) == 4);
  CHECK(lines(exporter::top::Detail::brief) == 3);
  CHECK(lines(exporter::top::Detail::line) == 0);
  const std::string full = exporter::top::draw_gpus(frame, {}, {}, {}, 100, exporter::top::Detail::full).canvas.text();
  const std::string machine = frame.hosts[0].gpus[0].functions[0].workload;
  CHECK(lines_with(full, {"vf1", "xe-vfio-pci", machine, "video ", "0000:03:00.1"}) == 1);
  CHECK(lines_with(full, {"vf4", "none", "idle"}) == 1);
}

TEST_SUITE_END();
