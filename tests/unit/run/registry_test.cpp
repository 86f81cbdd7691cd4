// SPDX-License-Identifier: Apache-2.0
#include "run/registry.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include "support/gpu_tree.h"
#include "support/recording_log.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

inline constexpr Metric<Count, 1> kGood{"intel_gpu_test_good", Kind::gauge, "A sample.", {"device"}};
inline constexpr Metric<Count, 1> kShaky{"intel_gpu_test_shaky", Kind::gauge, "A sample.", {"device"}};
inline constexpr FeatureDescriptor kShakyFeature{"shaky", "Nothing.", Need::perf_events};
constexpr const MetricDescriptor* kGoodMetrics[] = {&kGood};
constexpr const MetricDescriptor* kShakyMetrics[] = {&kShaky};
constexpr const FeatureDescriptor* kShakyFeatures[] = {&kShakyFeature};

// What the shaky collector does at its next collect(); the tests are the only user, one at a time.
struct Script {
  enum class Act { work, refuse, fail, throw_it, hang, throw_when_made };
  std::atomic<Act> act{Act::work};  // read by the registry's worker while a test changes it
  std::promise<void> release;
  Nanoseconds read_within = Nanoseconds::max();
  std::atomic<int> made{0};
  std::atomic<int> collected{0};
};
Script* script = nullptr;

class GoodCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{.name = "good", .help = "Works.", .metrics = kGoodMetrics, .features = {}};
  static std::unique_ptr<Collector> create(const CollectorContext& context) {
    return std::make_unique<GoodCollector>(context.gpu);
  }
  explicit GoodCollector(const Gpu& gpu) : gpu_(gpu) {}
  void collect(ScrapePass&, SampleSink& out) override { out.add(kGood, {gpu_.address}, Count{1}); }

 private:
  const Gpu& gpu_;
};

class ShakyCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{.name = "shaky",
                                       .help = "Does what the test says.",
                                       .accumulates_on_read = true,
                                       .metrics = kShakyMetrics,
                                       .features = kShakyFeatures};
  static std::unique_ptr<Collector> create(const CollectorContext& context) {
    ++script->made;
    if (script->act == Script::Act::throw_when_made) throw std::runtime_error("a bug");
    return std::make_unique<ShakyCollector>(context);
  }
  explicit ShakyCollector(const CollectorContext& context) : gpu_(context.gpu), counter_(context.memory.counter("n")) {}
  void collect(ScrapePass&, SampleSink& out) override {
    ++script->collected;
    switch (script->act) {
      case Script::Act::work:
      case Script::Act::throw_when_made: break;
      case Script::Act::refuse: out.absent(kShakyFeature, {Reason::permission, EACCES}); return;
      case Script::Act::fail: out.failed({std::make_error_code(std::errc::io_error), "sys/some/file"}); return;
      case Script::Act::throw_it: throw std::runtime_error("a bug");
      case Script::Act::hang: script->release.get_future().wait(); break;
    }
    counter_.add(1);
    out.available(kShakyFeature);
    out.add(kShaky, {gpu_.address}, Count{static_cast<double>(counter_.total())});
  }
  Nanoseconds read_within() const override { return script->read_within; }

 private:
  const Gpu& gpu_;
  MonotonicCounter& counter_;
};

constexpr CollectorEntry kEntries[] = {entry<ShakyCollector>(), entry<GoodCollector>()};

struct Scene {
  TestMachine machine;
  RecordingLog log;
  Script own_script;
  std::unique_ptr<Registry> registry;

  explicit Scene(Nanoseconds timeout = 10s, const MonitorOptions& options = {}) {
    script = &own_script;
    add_gpu(machine.tree,
            {.pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card0", .render_node = "renderD128"});
    registry = std::make_unique<Registry>(nullptr, machine.machine(), RegistryOptions{{}, 1s, timeout},
                                          configure(kEntries, options), log);
  }
  std::shared_ptr<const ScrapeResult> run(Registry::Request request = {}) { return registry->run(request); }
  // Lets the hanging collector go and scrapes until it is back; nothing of it may outlive the machine.
  std::shared_ptr<const ScrapeResult> release() {
    const int so_far = own_script.collected;
    own_script.act = Script::Act::work;
    own_script.release.set_value();
    auto page = run();
    for (int i = 0; i < 5000 && own_script.collected == so_far; ++i) {
      std::this_thread::sleep_for(1ms);
      page = run();
    }
    return page;
  }
};

std::vector<std::string> failed(const ScrapeResult& result) {
  return {result.failed_collectors().begin(), result.failed_collectors().end()};
}

}  // namespace

TEST_SUITE_BEGIN("registry");

TEST_CASE("every collector's samples are on the page, with success and duration") {
  Scene scene;
  const auto page = scene.run();
  CHECK(value_of(*page, "intel_gpu_test_good", {{"device", "0000:00:02.0"}}) == 1);
  CHECK(value_of(*page, "intel_gpu_test_shaky", {{"device", "0000:00:02.0"}}) == 1);
  CHECK(value_of(*page, "intel_gpu_exporter_devices") == 1);
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "shaky"}}) == 1);
  CHECK(value_of(*page, "intel_gpu_scrape_collector_duration_seconds", {{"collector", "good"}}));
  CHECK(value_of(*page, "intel_gpu_exporter_feature_available",
                 {{"device", "0000:00:02.0"}, {"feature", "shaky"}, {"reason", "ok"}}) == 1);
}

TEST_CASE("a failing collector costs only its own series, is logged once, and recovers at the next scrape") {
  Scene scene;
  scene.own_script.act = Script::Act::fail;
  for (int i = 0; i < 3; ++i) {
    const auto page = scene.run();
    CHECK_FALSE(value_of(*page, "intel_gpu_test_shaky", {{"device", "0000:00:02.0"}}));
    CHECK(value_of(*page, "intel_gpu_test_good", {{"device", "0000:00:02.0"}}) == 1);
    CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "shaky"}}) == 0);
    CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "good"}}) == 1);
    CHECK(failed(*page) == std::vector<std::string>{"shaky"});
  }
  CHECK(scene.log.count(LogLevel::error) == 1);
  scene.own_script.act = Script::Act::work;
  const auto page = scene.run();
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "shaky"}}) == 1);
  CHECK(failed(*page).empty());
}

TEST_CASE("an exception from a collector is that collector's failure") {
  Scene scene;
  scene.own_script.act = Script::Act::throw_it;
  const auto page = scene.run();
  CHECK(value_of(*page, "intel_gpu_test_good", {{"device", "0000:00:02.0"}}) == 1);
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "shaky"}}) == 0);
}

TEST_CASE("a collector that cannot be created costs only its own series, and is created as soon as possible") {
  Scene scene;
  scene.own_script.act = Script::Act::throw_when_made;
  const auto page = scene.run();
  CHECK(value_of(*page, "intel_gpu_exporter_devices") == 1);
  CHECK(value_of(*page, "intel_gpu_test_good", {{"device", "0000:00:02.0"}}) == 1);
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "shaky"}}) == 0);
  scene.own_script.act = Script::Act::work;
  CHECK(value_of(*scene.run(), "intel_gpu_test_shaky", {{"device", "0000:00:02.0"}}) == 1);
}

TEST_CASE("missing permission is no failure: it is reported as a feature with its hint, and logged once") {
  Scene scene;
  scene.machine.tree.write("proc/sys/kernel/perf_event_paranoid", "2\n");
  scene.machine.privileges.capabilities.clear();
  scene.own_script.act = Script::Act::refuse;
  std::shared_ptr<const ScrapeResult> page;
  for (int i = 0; i < 3; ++i) page = scene.run();
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "shaky"}}) == 1);
  CHECK(value_of(*page, "intel_gpu_exporter_feature_available",
                 {{"device", "0000:00:02.0"}, {"feature", "shaky"}, {"reason", "permission"}}) == 0);
  CHECK(scene.log.count(LogLevel::warn) == 1);
  bool found = false;
  for (const Finding& finding : page->findings())
    if (finding.feature == &kShakyFeature) found = finding.hint.find("CAP_PERFMON") != std::string::npos;
  CHECK(found);
}

TEST_CASE("a collector that hangs is left behind and skipped until it returns") {
  Scene scene(2s);  // what does not hang ends within that on a busy machine, too
  (void)scene.run();
  scene.own_script.act = Script::Act::hang;
  auto page = scene.run();
  CHECK(value_of(*page, "intel_gpu_test_good", {{"device", "0000:00:02.0"}}) == 1);
  CHECK_FALSE(value_of(*page, "intel_gpu_test_shaky", {{"device", "0000:00:02.0"}}));
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "shaky"}}) == 0);
  const int so_far = scene.own_script.collected;
  page = scene.run();
  CHECK(scene.own_script.collected == so_far);  // not called while it hangs
  CHECK(value_of(*page, "intel_gpu_test_good", {{"device", "0000:00:02.0"}}) == 1);
  CHECK(value_of(*scene.release(), "intel_gpu_test_shaky", {{"device", "0000:00:02.0"}}));
}

TEST_CASE("every thread that runs collectors is created by the owner's function") {
  Scene scene(2s);
  std::atomic<int> made = 0;
  RegistryOptions options{{}, 1s, 2s, [&made](std::function<void()> body) {
                            ++made;
                            return std::thread(std::move(body));
                          }};
  scene.registry = std::make_unique<Registry>(nullptr, scene.machine.machine(), std::move(options),
                                              configure(kEntries, {}), scene.log);
  (void)scene.run();
  (void)scene.run();
  CHECK(made == 1);  // kept from one scrape to the next
  scene.own_script.act = Script::Act::hang;
  (void)scene.run();
  CHECK(made == 2);  // for the one that was left behind
  (void)scene.release();
}

TEST_CASE("at its deadline a scrape is answered without the late collector") {
  Scene scene;
  (void)scene.run();
  scene.own_script.act = Script::Act::hang;
  const auto page = scene.run({.deadline = 30ms});
  CHECK(value_of(*page, "intel_gpu_exporter_devices") == 1);
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "shaky"}}) == 0);
  CHECK(value_of(*scene.release(), "intel_gpu_test_shaky", {{"device", "0000:00:02.0"}}));
}

TEST_CASE("collect[] runs only the named collectors") {
  Scene scene;
  const auto page = scene.run({.collectors = CollectorSet::only({"good"})});
  CHECK(scene.own_script.collected == 0);
  CHECK(value_of(*page, "intel_gpu_test_good", {{"device", "0000:00:02.0"}}) == 1);
  CHECK_FALSE(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "shaky"}}));
}

TEST_CASE("a disabled collector is not created; its features are reported as disabled") {
  Scene scene(10s, {.collectors = {{"shaky", false}}});
  const auto page = scene.run();
  CHECK(scene.own_script.made == 0);
  CHECK(value_of(*page, "intel_gpu_exporter_feature_available",
                 {{"device", "0000:00:02.0"}, {"feature", "shaky"}, {"reason", "disabled"}}) == 0);
}

TEST_CASE("a suspended GPU's collectors are not called; after resume they are the same ones") {
  Scene scene;
  scene.machine.tree.write("sys/devices/pci0000:00/0000:00:02.0/power/runtime_status", "active\n");
  add_gpu(scene.machine.tree,
          {.pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card0", .render_node = "renderD128"});
  (void)scene.run();
  scene.machine.tree.write("sys/devices/pci0000:00/0000:00:02.0/power/runtime_status", "suspended\n");
  const int so_far = scene.own_script.collected;
  const auto page = scene.run();
  CHECK(scene.own_script.collected == so_far);
  CHECK_FALSE(value_of(*page, "intel_gpu_test_shaky", {{"device", "0000:00:02.0"}}));
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "shaky"}}) == 1);
  CHECK(value_of(*page, "intel_gpu_exporter_feature_available",
                 {{"device", "0000:00:02.0"}, {"feature", "shaky"}, {"reason", "suspended"}}) == 0);
  scene.machine.tree.write("sys/devices/pci0000:00/0000:00:02.0/power/runtime_status", "active\n");
  CHECK(value_of(*scene.run(), "intel_gpu_test_shaky", {{"device", "0000:00:02.0"}}) == so_far + 1);
}

TEST_CASE("a GPU that is rebound is followed within one scrape, and its counters continue") {
  Scene scene;
  (void)scene.run();
  CHECK(value_of(*scene.run(), "intel_gpu_test_shaky", {{"device", "0000:00:02.0"}}) == 2);
  remove_gpu(scene.machine.tree, "pci0000:00/0000:00:02.0");
  CHECK(value_of(*scene.run(), "intel_gpu_exporter_devices") == 0);
  add_gpu(scene.machine.tree,
          {.pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card1", .render_node = "renderD128"});
  const auto page = scene.run();
  CHECK(value_of(*page, "intel_gpu_exporter_devices") == 1);
  CHECK(value_of(*page, "intel_gpu_test_shaky", {{"device", "0000:00:02.0"}}) == 3);
  CHECK(scene.own_script.made == 2);
}

TEST_CASE("only a run that reads the accumulators postpones their next read") {
  Scene scene;
  const auto pass = [&](Nanoseconds time, Registry::Request request) {
    scene.machine.clock.advance(time);
    scene.run(std::move(request));
    return scene.registry->accumulating_due_after();
  };
  CHECK(pass(0s, {}) == 10min);
  CHECK(pass(3min, {.collectors = CollectorSet::only({"good"})}) == 7min);
  CHECK(pass(3min, {.collectors = CollectorSet::none()}) == 4min);
  CHECK(pass(1min, {.collectors = CollectorSet::only({"shaky", "good"})}) == 10min);
  CHECK(pass(1min, {.collectors = CollectorSet::only({"good"})}) == 9min);
  CHECK(pass(30min, {.collectors = CollectorSet::only({"good"})}) == 0min);  // overdue
  CHECK(pass(0min, {.only_accumulating = true}) == 10min);
}

TEST_CASE("a card whose counters wrap sooner is read more often") {
  Scene scene;
  scene.own_script.read_within = 131s;
  scene.run();
  CHECK(scene.registry->accumulating_due_after() == 131s);
  scene.machine.clock.advance(100s);
  scene.run({.collectors = CollectorSet::only({"good"})});
  CHECK(scene.registry->accumulating_due_after() == 31s);
}

TEST_CASE("an accumulator that failed was not read: it is read again soon, not at once") {
  Scene scene;
  scene.run();
  scene.own_script.act = Script::Act::fail;
  scene.machine.clock.advance(9min);
  scene.run();
  CHECK(scene.registry->accumulating_due_after() == 1min);
  scene.machine.clock.advance(1min);
  scene.run({.only_accumulating = true});
  CHECK(scene.registry->accumulating_due_after() == 1min);
  scene.own_script.act = Script::Act::work;
  scene.run({.only_accumulating = true});
  CHECK(scene.registry->accumulating_due_after() == 10min);
}

TEST_CASE("an accumulator that hung was not read") {
  Scene scene(2s);  // what does not hang ends within that on a busy machine, too
  scene.run();
  scene.machine.clock.advance(9min + 30s);
  scene.own_script.act = Script::Act::hang;
  scene.run();
  CHECK(scene.registry->accumulating_due_after() == 1min);
  scene.machine.clock.advance(50s);
  scene.run();  // skipped, as it has not come back
  CHECK(scene.registry->accumulating_due_after() == 1min);
  scene.release();
  CHECK(scene.registry->accumulating_due_after() == 10min);
}

TEST_CASE("a suspended GPU's accumulators are not read") {
  Scene scene;
  scene.run();
  scene.machine.clock.advance(9min);
  scene.machine.tree.write("sys/devices/pci0000:00/0000:00:02.0/power/runtime_status", "suspended\n");
  scene.run();
  CHECK(scene.registry->accumulating_due_after() == 10min);
}

TEST_CASE("a machine without a GPU is rescanned now and then, whatever is requested") {
  Scene scene;
  scene.machine.tree.remove("sys/class/drm/card0");
  scene.machine.tree.remove("sys/class/drm/renderD128");
  scene.run({.collectors = CollectorSet::only({"good"})});
  CHECK(scene.registry->accumulating_due_after() == 10min);
}

TEST_CASE("a machine without a GPU is logged once and is no failure") {
  Scene scene;
  remove_gpu(scene.machine.tree, "pci0000:00/0000:00:02.0");
  for (int i = 0; i < 3; ++i) {
    const auto page = scene.run();
    CHECK(value_of(*page, "intel_gpu_exporter_devices") == 0);
    CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "good"}}) == 1);
  }
  CHECK(scene.log.count(LogLevel::warn) == 1);
}

TEST_SUITE_END();
