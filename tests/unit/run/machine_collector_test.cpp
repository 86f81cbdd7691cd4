// SPDX-License-Identifier: Apache-2.0
// Collectors of the whole machine beside those of its GPUs.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "collector/shared/shared_options.h"
#include "run/registry.h"
#include "run/run.h"
#include "support/gpu_tree.h"
#include "support/proc_tree.h"
#include "support/recording_log.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

const std::string kPath = "pci0000:00/0000:00:02.0";
const std::string kGpu = "0000:00:02.0";

inline constexpr Metric<Count, 0> kRuns{"intel_gpu_test_machine_runs", Kind::gauge, "A sample."};
inline constexpr Metric<Count, 0> kClients{"intel_gpu_test_machine_clients", Kind::gauge, "A sample."};
inline constexpr Metric<Count, 1> kAsleep{"intel_gpu_test_machine_asleep", Kind::gauge, "A sample.", {"device"}};
inline constexpr Metric<Seconds, 1> kMeasured{
    "intel_gpu_test_machine_measured_seconds", Kind::gauge, "A sample.", {"device"}};
inline constexpr Metric<Count, 0> kAlarms{"intel_gpu_test_machine_alarms", Kind::gauge, "A sample."};
inline constexpr FeatureDescriptor kWhole{"whole", "Nothing.", Need::other_processes, true};
constexpr const MetricDescriptor* kMachineMetrics[] = {&kRuns, &kClients, &kAsleep, &kMeasured, &kAlarms};
constexpr const FeatureDescriptor* kMachineFeatures[] = {&kWhole};

struct Script {
  enum class Act { work, refuse, throw_it, hang };
  std::atomic<Act> act{Act::work};
  std::promise<void> release;
  std::atomic<int> made{0};
  std::atomic<int> collected{0};
  std::atomic<int> measured{0};
};
Script* script = nullptr;

struct Measurement {
  Seconds seconds;
};
struct Alarm {};

// Of a GPU: as the collector that reads the PMU.
class MeterCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "meter", .help = "Measures.", .accumulates_on_read = true, .metrics = {}, .features = {}};
  static std::unique_ptr<Collector> create(const CollectorContext&) { return std::make_unique<MeterCollector>(); }
  void collect(ScrapePass& pass, SampleSink&) override {
    ++script->measured;
    pass.facts().put(kGpu, Measurement{7.5});
    pass.facts().post(Alarm{});
    CHECK(pass.clients());
  }
};

class WholeCollector final : public MachineCollector {
 public:
  static constexpr std::array<const OptionDescriptor*, 1> kOptions{&kScanInterval};
  static constexpr CollectorInfo kInfo{.name = "whole",
                                       .help = "Does as told.",
                                       .reads_processes = true,
                                       .metrics = kMachineMetrics,
                                       .features = kMachineFeatures,
                                       .options = kOptions};
  static std::unique_ptr<MachineCollector> create(const MachineContext&) {
    ++script->made;
    return std::make_unique<WholeCollector>();
  }
  void collect(MachinePass& pass, SampleSink& out) override {
    ++script->collected;
    out.add(kRuns, Count{static_cast<double>(++runs_)});
    switch (script->act) {
      case Script::Act::work: break;
      case Script::Act::refuse: out.absent(kWhole, {Reason::permission, EACCES}); return;
      case Script::Act::throw_it: throw std::runtime_error("a bug");
      case Script::Act::hang: script->release.get_future().wait(); return;
    }
    out.available(kWhole);
    out.add(kAlarms, Count{static_cast<double>(pass.facts().take<Alarm>().size())});
    if (const auto snapshot = pass.clients())
      out.add(kClients, Count{static_cast<double>((*snapshot)->clients.size())});
    for (const std::string& device : pass.asleep()) out.add(kAsleep, {device}, Count{1});
    for (const auto& [device, measured] : pass.facts().by_device<Measurement>())
      out.add(kMeasured, {device}, measured.seconds);
  }

 private:
  int runs_ = 0;
};

// The part for the whole machine of the collector "meter".
class MeterOfMachine final : public MachineCollector {
 public:
  static std::unique_ptr<MachineCollector> create(const MachineContext&) { return std::make_unique<MeterOfMachine>(); }
  void collect(MachinePass& pass, SampleSink& out) override {
    for (const auto& [device, measured] : pass.facts().by_device<Measurement>())
      out.add(kMeasured, {device}, measured.seconds);
  }
};

// Counts the pages of each client.
class ByClientCollector final : public MachineCollector {
 public:
  static constexpr Metric<Count, 1> kPages{"intel_gpu_test_pages", Kind::gauge, "A sample.", {"device"}};
  static constexpr const MetricDescriptor* kMetrics[] = {&kPages};
  static constexpr CollectorInfo kInfo{.name = "by_client", .help = "Counts.", .metrics = kMetrics, .features = {}};
  static std::unique_ptr<MachineCollector> create(const MachineContext&) {
    return std::make_unique<ByClientCollector>();
  }
  void collect(MachinePass& pass, SampleSink&) override { pass.differs_by_client(pages_); }

 private:
  struct Pages final : ClientSamples {
    std::mutex mutex;
    std::map<std::string, int, std::less<>> of;
    void write(std::string_view client, SampleSink& out) override {
      const std::lock_guard lock(mutex);
      out.add(kPages, {client}, Count{static_cast<double>(++of[std::string(client)])});
    }
  };
  std::shared_ptr<Pages> pages_ = std::make_shared<Pages>();
};

constexpr CollectorEntry kTwoParts[] = {{&MeterCollector::kInfo, &MeterCollector::create, &MeterOfMachine::create}};
constexpr CollectorEntry kWithClients[] = {entry<WholeCollector>(), entry<ByClientCollector>()};
constexpr CollectorEntry kEntries[] = {entry<MeterCollector>(), entry<WholeCollector>()};
constexpr CollectorInfo kQuiet{
    .name = "quiet", .help = "Nothing.", .enabled_by_default = false, .metrics = {}, .features = kMachineFeatures};

struct Scene {
  TestMachine machine;
  RecordingLog log;
  Script own_script;
  std::unique_ptr<Registry> registry;

  explicit Scene(Nanoseconds timeout = 10s, const MonitorOptions& options = {}) {
    script = &own_script;
    machine.tree.write("proc/stat", "btime 0\n");
    registry = std::make_unique<Registry>(nullptr, machine.machine(), RegistryOptions{{}, 1s, timeout},
                                          configure(kEntries, options), log);
  }
  void plug() {
    add_gpu(machine.tree, {.pci_path = kPath, .driver = "i915", .card = "card0", .render_node = "renderD128"});
  }
  std::shared_ptr<const ScrapeResult> run(Registry::Request request = {}) { return registry->run(request); }
};

}  // namespace

TEST_SUITE_BEGIN("machine collector");

TEST_CASE("it runs without a GPU, and is the same one while GPUs come and go") {
  Scene scene;
  auto page = scene.run();
  CHECK(value_of(*page, "intel_gpu_test_machine_runs") == 1);
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "whole"}}) == 1);
  CHECK(value_of(*page, "intel_gpu_exporter_feature_available", {{"feature", "whole"}, {"reason", "ok"}}) == 1);
  scene.plug();
  CHECK(value_of(*scene.run(), "intel_gpu_test_machine_runs") == 2);
  remove_gpu(scene.machine.tree, kPath);
  CHECK(value_of(*scene.run(), "intel_gpu_test_machine_runs") == 3);
  CHECK(scene.own_script.made == 1);
}

TEST_CASE("it shares the scan of the clients with the GPUs' collectors, and gets what they measured") {
  Scene scene;
  scene.plug();
  add_process(scene.machine.tree, 7);
  add_file(scene.machine.tree, 7, 3,
           "drm-driver:\ti915\ndrm-pdev:\t" + kGpu + "\ndrm-client-id:\t1\ndrm-engine-video:\t5 ns\n");
  const auto page = scene.run();
  CHECK(value_of(*page, "intel_gpu_test_machine_clients") == 1);
  CHECK(value_of(*page, "intel_gpu_test_machine_measured_seconds", {{"device", kGpu}}) == 7.5);
  CHECK(value_of(*page, "intel_gpu_exporter_client_walk_complete") == 1);
}

TEST_CASE("it is called while GPUs sleep, and knows which") {
  Scene scene;
  scene.plug();
  scene.machine.tree.write("sys/devices/" + kPath + "/power/runtime_status", "suspended\n");
  const auto page = scene.run();
  CHECK(value_of(*page, "intel_gpu_test_machine_asleep", {{"device", kGpu}}) == 1);
  CHECK_FALSE(value_of(*page, "intel_gpu_test_machine_measured_seconds", {{"device", kGpu}}));
}

TEST_CASE("what is measured counts for the scrape that measured it") {
  Scene scene;
  scene.plug();
  (void)scene.run();
  const auto page = scene.run({.collectors = CollectorSet::only({"whole"})});
  CHECK(value_of(*page, "intel_gpu_test_machine_runs") == 2);
  CHECK_FALSE(value_of(*page, "intel_gpu_test_machine_measured_seconds", {{"device", kGpu}}));
}

TEST_CASE("an event waits for the scrape in which its collector runs") {
  Scene scene;
  scene.plug();
  for (int i = 0; i < 2; ++i) (void)scene.run({.collectors = CollectorSet::only({"meter"})});
  const auto alarms = [&] {
    return value_of(*scene.run({.collectors = CollectorSet::only({"whole"})}), "intel_gpu_test_machine_alarms");
  };
  CHECK(alarms() == 2);
  CHECK(alarms() == 0);
}

TEST_CASE("a collector may have a part for each GPU and one for the machine, which runs last") {
  Scene scene;
  Registry registry(nullptr, scene.machine.machine(), RegistryOptions{{}, 1s, 10s}, configure(kTwoParts, {}),
                    scene.log);
  const std::string_view success = "intel_gpu_scrape_collector_success";
  CHECK(value_of(*registry.run({}), success, {{"collector", "meter"}}) == 1);  // without a GPU
  scene.plug();
  const auto page = registry.run({});
  CHECK(value_of(*page, "intel_gpu_test_machine_measured_seconds", {{"device", kGpu}}) == 7.5);
  CHECK(value_of(*page, success, {{"collector", "meter"}}) == 1);
}

TEST_CASE("clients that share a run each get what is their own, unless they leave the collector out") {
  Scene scene;
  Registry registry(nullptr, scene.machine.machine(), RegistryOptions{{}, 1s, 10s}, configure(kWithClients, {}),
                    scene.log);
  const auto pages = [](const ScrapeResult& page, std::string_view client) {
    return value_of(page, "intel_gpu_test_pages", {{"device", client}});
  };
  for (int scrape = 1; scrape <= 2; ++scrape) {
    const auto run = registry.start({});
    const auto first = run->result({}, {}, "first");
    const auto second = run->result({}, {}, "second");
    CHECK(pages(*first, "first") == scrape);
    CHECK_FALSE(pages(*first, "second"));
    CHECK(pages(*second, "second") == scrape);
    CHECK(value_of(*first, "intel_gpu_test_machine_runs") == value_of(*second, "intel_gpu_test_machine_runs"));
    const auto without = run->result(CollectorSet::only({"whole"}), {}, "first");
    CHECK_FALSE(pages(*without, "first"));
  }
}

TEST_CASE("an exception costs only its own series, and it stays the same object") {
  Scene scene;
  (void)scene.run();
  scene.own_script.act = Script::Act::throw_it;
  auto page = scene.run();
  CHECK_FALSE(value_of(*page, "intel_gpu_test_machine_runs"));
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "whole"}}) == 0);
  scene.own_script.act = Script::Act::work;
  CHECK(value_of(*scene.run(), "intel_gpu_test_machine_runs") == 3);
}

TEST_CASE("what it may not read is a finding about the machine, with its hint") {
  Scene scene;
  scene.own_script.act = Script::Act::refuse;
  const auto page = scene.run();
  REQUIRE(page->findings().size() == 1);
  CHECK(page->findings()[0].device.empty());
  CHECK_FALSE(page->findings()[0].hint.empty());
  CHECK(value_of(*page, "intel_gpu_exporter_feature_available", {{"feature", "whole"}, {"reason", "permission"}}) == 0);
}

TEST_CASE("one that hangs is left behind until it returns; the GPUs' collectors go on") {
  Scene scene(2s);  // what does not hang ends within that on a busy machine, too
  scene.plug();
  (void)scene.run();
  scene.own_script.act = Script::Act::hang;
  auto page = scene.run();
  CHECK_FALSE(value_of(*page, "intel_gpu_test_machine_runs"));
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "whole"}}) == 0);
  const int so_far = scene.own_script.collected;
  page = scene.run();
  CHECK(scene.own_script.collected == so_far);
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "meter"}}) == 1);
  scene.own_script.act = Script::Act::work;
  scene.own_script.release.set_value();
  for (int i = 0; i < 5000 && scene.own_script.collected == so_far; ++i) {
    std::this_thread::sleep_for(1ms);
    page = scene.run();
  }
  CHECK(value_of(*page, "intel_gpu_test_machine_runs") == 3);
  CHECK(scene.own_script.made == 1);
}

TEST_CASE("a run that only reads what accumulates leaves it out") {
  Scene scene;
  scene.plug();
  (void)scene.run();
  (void)scene.run({.only_accumulating = true});
  CHECK(scene.own_script.collected == 1);
}

TEST_CASE("with an interval it is read between scrapes, without those that have time") {
  MonitorOptions options;
  options.collector_options["collector.fdinfo.interval"] = {"2s"};
  Scene scene(10s, options);
  scene.plug();
  (void)scene.run();
  CHECK(scene.registry->accumulating_due_after() == 2s);
  scene.machine.clock.advance(500ms);
  (void)scene.run({.only_accumulating = true});  // not near
  CHECK(scene.own_script.collected == 1);
  CHECK(scene.registry->accumulating_due_after() == 1500ms);
  scene.machine.clock.advance(1500ms);
  (void)scene.run({.only_accumulating = true});
  CHECK(scene.own_script.collected == 2);
  CHECK(scene.own_script.measured == 1);
  CHECK(scene.registry->accumulating_due_after() == 2s);
  (void)scene.run();  // a scrape has read all
  CHECK(scene.own_script.measured == 2);
  CHECK(scene.registry->accumulating_due_after() == 2s);
}

TEST_CASE("an interval is bounded, so that reading leaves the processor to others") {
  MonitorOptions options;
  options.collector_options["collector.fdinfo.interval"] = {"1ms"};
  Scene scene(10s, options);
  (void)scene.run();
  CHECK(scene.registry->accumulating_due_after() == 100ms);
}

TEST_CASE("one that is off by default and was not asked for is not missed") {
  const CollectorEntry entries[] = {{&kQuiet, nullptr, &WholeCollector::create}};
  Script own_script;
  script = &own_script;
  TestMachine machine;
  add_gpu(machine.tree, {.pci_path = kPath, .driver = "i915", .card = "card0", .render_node = "renderD128"});
  RecordingLog log;
  Registry registry(nullptr, machine.machine(), RegistryOptions{{}, 1s, 10s}, configure(entries, {}), log);
  CHECK(registry.run({})->findings().empty());
  CHECK(own_script.made == 0);
}

TEST_SUITE_END();
