// SPDX-License-Identifier: Apache-2.0
// Every collector, those that come later too, sees the GPUs that --gpu chooses and no others.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/monitor.h"
#include "run/machine_parts.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// Every collector is on.
MonitorOptions all_collectors(std::vector<std::string> gpus) {
  MonitorOptions options;
  options.gpus = std::move(gpus);
  options.min_window = 1ms;
  for (const CollectorDescription& collector : describe_collectors())
    if (!collector.always_on) options.collectors[std::string(collector.name)] = true;
  return options;
}

struct Page {
  explicit Page(simulation::MachineScript script, std::vector<std::string> gpus)
      : parts(std::make_shared<SimulatedParts>(std::move(script))),
        monitor(make_monitor(parts, all_collectors(std::move(gpus)), log)) {
    parts->clock.advance(30s);
    (void)monitor->scrape({});
    parts->clock.advance(30s);
    result = monitor->scrape({});
  }
  // The values of a label, of any metric but those about the exporter's run.
  std::set<std::string> values(std::string_view label, std::string_view device = {}) const {
    std::set<std::string> found;
    for (const SampleList* const list : result->lists()) {
      for (const SampleList::Sample& sample : list->samples()) {
        const auto names = std::span(sample.metric->label_names).first(sample.metric->label_count);
        const auto value = [&](std::string_view wanted) -> std::string {
          for (std::size_t i = 0; i < names.size(); ++i)
            if (names[i] == wanted) return std::string(list->label_value(sample, i));
          return {};
        };
        if (!device.empty() && value("device") != device) continue;
        if (std::string text = value(label); !text.empty()) found.insert(std::move(text));
      }
    }
    return found;
  }

  RecordingLog log;
  std::shared_ptr<SimulatedParts> parts;
  std::unique_ptr<Monitor> monitor;
  std::shared_ptr<const ScrapeResult> result;
};

simulation::MachineScript script_of(std::string_view profile) { return SimulatedParts(profile).simulated->script(); }

bool is_within(const std::set<std::string>& part, const std::set<std::string>& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

}  // namespace

TEST_SUITE_BEGIN("chosen_gpus");

TEST_CASE("with --gpu no series is about another GPU, or about a process or workload that uses only others") {
  const Page all(script_of("rack"), {});
  const std::set<std::string> devices = all.values("device");
  REQUIRE(devices.size() == 3);
  for (const std::string& chosen : devices) {
    CAPTURE(chosen);
    const Page page(script_of("rack"), {chosen});
    CHECK(page.values("device") == std::set{chosen});
    for (const std::string_view label : {"pid", "workload"}) {
      CAPTURE(label);
      std::set<std::string> of_chosen = all.values(label, chosen);
      REQUIRE_FALSE(of_chosen.empty());
      REQUIRE(of_chosen != all.values(label));
      CHECK(is_within(page.values(label), of_chosen));
    }
  }
}

TEST_CASE("a sleeping GPU that is not chosen is not woken by the search for clients of another one") {
  simulation::MachineScript script = script_of("asleep");
  REQUIRE(script.gpus[1].model.driver == Driver::xe);
  script.gpus[0].suspended = false;
  const Page page(std::move(script), {"card1"});
  CHECK(page.values("device").size() == 1);
  CHECK(page.parts->simulated->resumes() == 0);
}

TEST_SUITE_END();
