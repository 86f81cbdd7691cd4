// SPDX-License-Identifier: Apache-2.0
// How scrapes share runs of the collectors; on a machine whose reads can be held up.
#include "igpu/monitor.h"

#include <doctest/doctest.h>

#include <future>
#include <thread>

#include "run/machine_parts.h"
#include "support/gated_directory.h"
#include "support/gpu_tree.h"
#include "support/proc_tree.h"
#include "support/recording_log.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;
using Page = std::shared_ptr<const ScrapeResult>;

namespace {

class GatedParts final : public MachineParts {
 public:
  TestMachine real;
  RecordingLog log;
  GatedDirectory sys{real.machine().sys, "class/drm"};  // listed once for each run
  GatedDirectory proc{real.machine().proc, "."};        // listed once for each walk over the processes

  GatedParts() {
    add_gpu(real.tree,
            {.pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card0", .render_node = "renderD128"});
    add_process(real.tree, 7);
  }
  Machine& machine() override { return machine_; }

 private:
  Machine machine_{sys,
                   proc,
                   real.machine().dev,
                   real.machine().perf,
                   real.machine().drm,
                   real.machine().clock,
                   real.machine().privileges,
                   real.machine().names};
};

struct Scene {
  std::shared_ptr<GatedParts> parts = std::make_shared<GatedParts>();
  Gate& discovery = parts->sys.gate;
  Gate& walking = parts->proc.gate;
  std::unique_ptr<Monitor> monitor;

  explicit Scene(Nanoseconds collector_timeout = 10min) {
    MonitorOptions options;
    options.min_window = 0s;
    options.collector_timeout = collector_timeout;
    monitor = make_monitor(parts, options, parts->log);
  }
  ~Scene() {
    discovery.open();
    walking.open();
  }
  Page scrape(CollectorSet collectors = {}, Nanoseconds deadline = Nanoseconds::max(), std::stop_token gone = {}) {
    return monitor->scrape({std::move(collectors), deadline, std::move(gone)});
  }
  std::future<Page> scrape_meanwhile(CollectorSet collectors = {}, std::stop_token gone = {}) {
    return std::async(std::launch::async,
                      [this, collectors, gone] { return scrape(collectors, Nanoseconds::max(), gone); });
  }
  // A scrape that has come as far as the processes, and stays there.
  std::future<Page> scrape_up_to_the_walk(CollectorSet collectors = {}) {
    walking.close();
    const int before = walking.arrived();
    auto page = scrape_meanwhile(std::move(collectors));
    REQUIRE(walking.wait_for_arrivals(before + 1));
    return page;
  }
  void wait_for_waiting(std::size_t count) const {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (waiting_for_run(*monitor) != count && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    REQUIRE(waiting_for_run(*monitor) == count);
  }
  int lines(std::string_view text) const {
    int n = 0;
    for (const auto& line : parts->log.lines()) n += line.text.find(text) != std::string::npos;
    return n;
  }
};

std::optional<double> success(const Page& page, const char* collector) {
  return value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", collector}});
}

bool whole(const Page& page) {
  for (const CollectorDescription& collector : describe_collectors()) {
    if ((collector.always_on || collector.enabled_by_default) &&
        success(page, std::string(collector.name).c_str()) != 1)
      return false;
  }
  return value_of(*page, "intel_gpu_exporter_devices") == 1 &&
         value_of(*page, "intel_gpu_exporter_client_walk_complete") == 1;
}

}  // namespace

TEST_SUITE_BEGIN("monitor");

TEST_CASE("a scrape that cannot wait gets what has finished, and does not affect those that can") {
  Scene scene;
  auto patient = scene.scrape_up_to_the_walk();
  const Page short_one = scene.scrape({}, 20ms);
  REQUIRE(short_one);
  CHECK(success(short_one, "fdinfo") == 0);
  CHECK(success(short_one, "identity") == 1);
  CHECK(value_of(*short_one, "intel_gpu_exporter_devices") == 1);
  CHECK_FALSE(value_of(*short_one, "intel_gpu_exporter_client_walk_complete"));
  scene.walking.open();
  CHECK(whole(patient.get()));
  CHECK(whole(scene.scrape()));
}

TEST_CASE("a run without waiters finishes, and the next scrape uses it") {
  Scene scene;
  CHECK(whole(scene.scrape()));
  const int walks = scene.walking.arrived();
  scene.walking.close();
  CHECK(success(scene.scrape({}, 20ms), "fdinfo") == 0);
  CHECK(success(scene.scrape({}, 20ms), "fdinfo") == 0);
  auto next = scene.scrape_meanwhile();
  scene.walking.open();
  CHECK(whole(next.get()));
  CHECK(scene.walking.arrived() <= walks + 2);  // it came before the end of the run, or after it
}

TEST_CASE("a caller that has waited since before a run began gets its result, also after its end") {
  Scene scene;
  const auto before = std::chrono::steady_clock::now();
  const auto walks_of = [&](const ScrapeRequest& request) {
    const int walks = scene.walking.arrived();
    CHECK(scene.monitor->scrape(request));
    return scene.walking.arrived() - walks;
  };
  CHECK(walks_of({.collectors = CollectorSet::only({"fdinfo"}), .since = before}) == 1);
  CHECK(walks_of({.collectors = CollectorSet::only({"fdinfo"}), .since = before}) == 0);
  CHECK(walks_of({.since = before}) == 1);  // all collectors: the earlier run had one of them
  CHECK(walks_of({.collectors = CollectorSet::only({"fdinfo"}), .since = before}) == 0);
  CHECK(walks_of({.since = std::chrono::steady_clock::now()}) == 1);
  CHECK(walks_of({}) == 1);
}

TEST_CASE(
    "before the GPUs are listed, a scrape that cannot wait has none of its collectors and the GPUs of the last run") {
  Scene scene;
  scene.discovery.close();
  const Page page = scene.scrape({}, 20ms);
  REQUIRE(page);
  CHECK(value_of(*page, "intel_gpu_exporter_devices") == 1);
  for (const CollectorDescription& collector : describe_collectors()) {
    if (collector.always_on || collector.enabled_by_default)
      CHECK(success(page, std::string(collector.name).c_str()) == 0);
  }
  scene.discovery.open();
  CHECK(whole(scene.scrape()));
}

TEST_CASE("scrapes that cannot wait are logged once, and again only after an hour without any") {
  Scene scene;
  auto patient = scene.scrape_up_to_the_walk();
  for (int i = 0; i < 50; ++i) (void)scene.scrape({}, i % 2 == 0 ? 1ms : 0ms);
  CHECK(scene.lines("a scrape timed out") == 1);
  scene.parts->real.clock.advance(30min);
  (void)scene.scrape({}, 1ms);
  scene.parts->real.clock.advance(45min);
  (void)scene.scrape({}, 1ms);
  CHECK(scene.lines("a scrape timed out") == 1);
  scene.parts->real.clock.advance(61min);
  (void)scene.scrape({}, 1ms);
  CHECK(scene.lines("a scrape timed out") == 2);
  scene.walking.open();
  (void)patient.get();
  CHECK(scene.parts->log.count(LogLevel::error) == 0);
}

TEST_CASE("a scrape that times out before its collectors begin has no page") {
  Scene scene;
  auto processes = scene.scrape_up_to_the_walk(CollectorSet::only({"fdinfo"}));
  CHECK_FALSE(scene.scrape(CollectorSet::only({"frequency"}), 20ms));
  CHECK_FALSE(scene.scrape({}, 0ns));
  scene.walking.open();
  CHECK(success(processes.get(), "fdinfo") == 1);
  const Page frequency = scene.scrape(CollectorSet::only({"frequency"}));
  CHECK(success(frequency, "frequency") == 1);
  CHECK_FALSE(success(frequency, "fdinfo"));
}

TEST_CASE("a scrape of some collectors shares a larger run, and returns when its own have finished") {
  Scene scene;
  auto all = scene.scrape_up_to_the_walk();
  const Page identity = scene.scrape(CollectorSet::none());  // the run still stands before the processes
  CHECK(success(identity, "identity") == 1);
  CHECK_FALSE(success(identity, "fdinfo"));
  CHECK_FALSE(success(identity, "frequency"));
  CHECK_FALSE(value_of(*identity, "intel_gpu_exporter_client_walk_complete"));
  scene.walking.open();
  CHECK(whole(all.get()));
}

TEST_CASE("whatever collectors are requested, a scrape waits for at most one run before its own") {
  Scene scene;
  auto first = scene.scrape_up_to_the_walk(CollectorSet::only({"fdinfo"}));
  const std::vector<std::string> names = scene.monitor->enabled_collectors();
  std::vector<std::future<Page>> others;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = i + 1; j < names.size(); ++j)
      others.push_back(scene.scrape_meanwhile(CollectorSet::only({names[j], names[i]})));
  }
  REQUIRE(others.size() >= 20);
  auto good = scene.scrape_meanwhile();
  scene.wait_for_waiting(others.size() + 1);
  const int runs = scene.discovery.arrived();
  scene.walking.open();
  CHECK(whole(good.get()));
  std::size_t i = 0, j = 1;
  for (auto& other : others) {
    const Page page = other.get();
    CHECK(success(page, names[i].c_str()) == 1);
    CHECK(success(page, names[j].c_str()) == 1);
    for (const std::string& name : names)
      CHECK(success(page, name.c_str()).has_value() == (name == names[i] || name == names[j]));
    if (++j == names.size()) j = ++i + 1;
  }
  CHECK(scene.discovery.arrived() == runs + 1);
  CHECK(success(first.get(), "fdinfo") == 1);
}

TEST_CASE("a scrape whose client has gone returns at once, whether its run has begun or not") {
  Scene scene;
  auto first = scene.scrape_up_to_the_walk(CollectorSet::only({"fdinfo"}));
  std::stop_source in_it, behind_it;
  auto sharing = scene.scrape_meanwhile(CollectorSet::only({"fdinfo"}), in_it.get_token());
  auto queued = scene.scrape_meanwhile(CollectorSet::only({"frequency"}), behind_it.get_token());
  scene.wait_for_waiting(1);
  in_it.request_stop();
  behind_it.request_stop();
  CHECK_FALSE(sharing.get());
  CHECK_FALSE(queued.get());
  scene.wait_for_waiting(0);
  scene.walking.open();
  CHECK(success(first.get(), "fdinfo") == 1);
}

TEST_CASE("a read that never returns is abandoned, even if every waiting scrape has less time") {
  Scene scene(100ms);
  scene.walking.close();
  const auto until = std::chrono::steady_clock::now() + 60s;
  Page page;
  do {
    page = scene.scrape({}, 10ms);
  } while ((!page || success(page, "imc") == 0 || success(page, "frequency") == 0 || success(page, "fdinfo") == 1) &&
           std::chrono::steady_clock::now() < until);
  REQUIRE(page);
  page = scene.scrape();
  CHECK(success(page, "frequency") == 1);
  CHECK(success(page, "fdinfo") == 0);
  CHECK(scene.lines("a read hangs") > 0);
  scene.walking.open();
  do {
    page = scene.scrape();
  } while (!whole(page) && std::chrono::steady_clock::now() < until);
  CHECK(whole(page));
}

TEST_CASE("a monitor can be destroyed while a read hangs") {
  Scene scene(100ms);
  scene.walking.close();
  (void)scene.scrape({}, 10ms);
  scene.monitor.reset();
  const auto until = std::chrono::steady_clock::now() + 60s;
  scene.walking.open();
  while (scene.parts.use_count() > 1 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  CHECK(scene.parts.use_count() == 1);  // the thread that was left behind has ended
}

TEST_SUITE_END();
