// SPDX-License-Identifier: Apache-2.0
// The screens of `top` for every simulation profile, as text, at the sizes of a serial console, a laptop and a wall.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "fake/simulation/simulation.h"
#include "igpu/monitor.h"
#include "support/golden.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"
#include "view/format/text_writer.h"
#include "view/top/host_frame.h"
#include "view/top/screen.h"

using namespace igpu;
using namespace igpu::simulation;
using namespace igpu::test;
using namespace std::chrono_literals;
namespace top = igpu::exporter::top;

namespace {

// Twelve seconds of a profile, a frame each second.
struct Watched {
  explicit Watched(std::string_view profile) : parts(std::make_shared<SimulatedParts>(profile)) {
    MonitorOptions options;
    options.collectors["workloads"] = true;
    const auto monitor = make_monitor(parts, options, log);
    for (int i = 0; i < 12; ++i) {
      parts->clock.advance(1s);
      const auto result = monitor->scrape({});
      const PageView page(result->lists());
      top::HostFrame host = top::frame_of(page);
      text.clear();
      exporter::write_prometheus_text(page, text);
      host.time = parts->clock.now();
      if (!frame.hosts.empty()) top::add_rates(host, frame.hosts.front());
      history.add(0, host);
      frame.hosts = {host};
    }
  }
  std::string screen(top::Size size, const top::ViewState& view = {}) const {
    const top::ScreenContext context{.clock = "14:05:09", .interval = "1 s", .source = "simulation"};
    return top::draw(frame, history, view, context, size).canvas.text();
  }

  RecordingLog log;
  std::shared_ptr<SimulatedParts> parts;
  top::Frame frame;
  top::History history;
  std::string text;  // the last page, as /metrics serves it
};

void compare(const std::string& name, const std::string& screen) {
  compare_with_golden("tests/screens/" + name + ".txt", screen);
}

// The words of a screen that hold a digit, in their order. A name that was cut off ends with an ellipsis.
std::vector<std::string> numbers(const std::string& screen) {
  std::vector<std::string> found;
  std::istringstream lines(screen);
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t more = line.find(" more line"); more != std::string::npos)
      line.resize(line.find_last_not_of("0123456789", more - 1) + 1);  // how many depends on the size
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (word.find_first_of("0123456789") != std::string::npos && !word.ends_with("\u2026")) found.push_back(word);
  }
  return found;
}

// The first of them that `all` does not have, in this order.
std::string first_wrong(const std::vector<std::string>& shown, const std::vector<std::string>& all) {
  auto next = all.begin();
  for (const std::string& number : shown) {
    next = std::find(next, all.end(), number);
    if (next == all.end()) return number;
    ++next;
  }
  return "";
}

}  // namespace

TEST_SUITE_BEGIN("top_screens");

TEST_CASE("every simulation profile has its screens") {
  for (const SimulationProfile& profile : simulation_profiles()) {
    const Watched watched(profile.name);
    for (const top::Size size : {top::Size{80, 24}, top::Size{120, 40}, top::Size{200, 60}}) {
      compare(std::string(profile.name) + "-" + std::to_string(size.width) + "x" + std::to_string(size.height),
              watched.screen(size));
    }
  }
}

TEST_CASE("the page of /metrics gives the same screen as the readings that it was written from") {
  for (const SimulationProfile& profile : simulation_profiles()) {
    const Watched watched(profile.name);
    INFO(profile.name);
    top::Frame parsed;
    parsed.hosts = {top::frame_of(std::string_view(watched.text))};
    top::Frame own = watched.frame;
    parsed.hosts.front().time = own.hosts.front().time;
    for (top::HostFrame* host : {&own.hosts.front(), &parsed.hosts.front()}) {  // they need the frame before
      host->cpu.clear();
      for (igpu::GpuModel& gpu : host->gpus) gpu.memory_bandwidth = Absent{};
    }
    for (const top::ViewState& view : {top::ViewState{}, top::ViewState{.workloads = true}}) {
      const auto text = [&](const top::Frame& frame) {
        return top::draw(frame, watched.history, view, {}, {200, 60}).canvas.text();
      };
      CHECK(text(own) == text(parsed));
    }
  }
}

TEST_CASE("tree, workloads, brief, one line each, help") {
  const Watched watched("rack");
  const top::Size size{120, 40};
  compare("rack-tree", watched.screen(size, {.tree = true}));
  compare("rack-workloads", watched.screen(size, {.workloads = true}));
  compare("rack-brief", watched.screen(size, {.detail = top::Detail::brief}));
  compare("rack-line", watched.screen(size, {.detail = top::Detail::line}));
  compare("help", watched.screen({80, 24}, {.over = top::Over::help}));
}

TEST_CASE("on a narrow screen every number is the one of a wide screen: columns go as a whole") {
  for (const SimulationProfile& profile : simulation_profiles()) {
    Watched watched(profile.name);
    for (const std::size_t hosts : {1U, 2U}) {
      if (hosts == 2) {
        watched.frame.hosts.push_back(watched.frame.hosts.front());
        watched.frame.hosts[0].name = "one:10068";
        watched.frame.hosts[1].name = "other.example.com:10068";
      }
      for (const top::Detail detail : {top::Detail::full, top::Detail::brief, top::Detail::line}) {
        for (top::ViewState view : {top::ViewState{.detail = detail}, top::ViewState{.tree = true, .detail = detail},
                                    top::ViewState{.workloads = true, .detail = detail}}) {
          view.span = {};  // a chart has numbers of its own
          const std::vector<std::string> all = numbers(watched.screen({120, 0}, view));
          for (int width = 20; width <= 80; ++width) {
            for (const int height : {0, 24}) {
              const std::string screen = watched.screen({width, height}, view);
              const std::string wrong = first_wrong(numbers(screen), all);
              INFO(profile.name << " " << width << "x" << height << "\n" << screen);
              REQUIRE(wrong == "");
            }
          }
        }
      }
    }
  }
}

TEST_CASE("one hidden line is one line") {
  const Watched watched("arc-a770");
  bool seen = false;
  for (int height = 5; height < 24; ++height) {
    const std::string screen = watched.screen({80, height}, {.detail = top::Detail::full});
    CHECK(screen.find(" 1 more lines") == std::string::npos);
    seen = seen || screen.find(" 1 more line:") != std::string::npos;
  }
  CHECK(seen);
}

TEST_SUITE_END();
