// SPDX-License-Identifier: Apache-2.0
// Opening a GPU by its names, and what a snapshot says of what is missing.
#include "gpu/open_gpu.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "igpu/monitor.h"
#include "support/gpu_tree.h"
#include "support/machine_tree.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"

using namespace igpu;
using namespace igpu::snapshot;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

GpuOptions simulated(const std::string& profile) {
  GpuOptions options;
  options.simulate = profile;
  options.min_window = 1ms;
  return options;
}

std::string address_of(std::string_view name) { return Gpu::open(name, simulated("rack")).info().address; }

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files)) - 1;  // its own
}

// A machine of real files, as in /sys.
struct Tree {
  MachineTree files;
  GpuOptions options;

  Tree() {
    for (const char* folder : {"sys/class/drm", "proc", "dev/dri"})
      std::filesystem::create_directories(files.path(folder));
    options.sysfs_root = files.path("sys");
    options.procfs_root = files.path("proc");
    options.devfs_root = files.path("dev");
    options.min_window = 1ms;
  }
};

const GpuSpec kIntegrated{
    .pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card0", .render_node = "renderD128"};

}  // namespace

TEST_SUITE_BEGIN("open gpu");

TEST_CASE("list() returns the GPUs by address, and detect() opens the first") {
  const std::vector<Gpu> gpus = Gpu::list(simulated("rack"));
  REQUIRE(gpus.size() == 3);
  CHECK(gpus[0].address < gpus[1].address);
  CHECK(gpus[1].address < gpus[2].address);
  CHECK(Gpu::detect(simulated("rack")).info().address == gpus[0].address);
}

TEST_CASE("a GPU is opened by each of its names") {
  for (const Gpu& gpu : Gpu::list(simulated("rack"))) {
    INFO(gpu.address);
    CHECK(address_of(gpu.address) == gpu.address);
    CHECK(address_of(gpu.card) == gpu.address);
    CHECK(address_of(gpu.render_node) == gpu.address);
    CHECK(address_of("/dev/dri/" + gpu.card) == gpu.address);
    CHECK(address_of("/dev/dri/" + gpu.render_node) == gpu.address);
    CHECK(address_of("/dev/dri/by-path/pci-" + gpu.address + "-render") == gpu.address);
    CHECK(address_of("/sys/class/drm/" + gpu.card) == gpu.address);
    CHECK(address_of("/sys/class/drm/" + gpu.card + "/device/") == gpu.address);
    CHECK(address_of("/sys/bus/pci/devices/" + gpu.address) == gpu.address);
    CHECK(address_of("/sys/" + gpu.pci_path + "/drm/" + gpu.card) == gpu.address);
  }
}

TEST_CASE("errors are types with a hint") {
  SUBCASE("no GPU has the name: the hint lists those that there are") {
    try {
      (void)Gpu::open("card77", simulated("rack"));
      FAIL("opened");
    } catch (const NoSuchGpu& error) {
      CHECK(std::string(error.what()) == "there is no Intel GPU \"card77\"");
      for (const Gpu& gpu : Gpu::list(simulated("rack")))
        CHECK(std::string(error.hint()).find(gpu.address + " (" + gpu.card) != std::string::npos);
    }
  }
  SUBCASE("no GPU at all") {
    const Tree tree;
    CHECK(Gpu::list(tree.options).empty());
    try {
      (void)Gpu::detect(tree.options);
      FAIL("opened");
    } catch (const NoGpu& error) {
      CHECK(std::string(error.what()).find("no Intel GPU is bound to i915 or xe") == 0);
      CHECK(std::string(error.hint()).find("lspci") != std::string::npos);
    }
  }
  SUBCASE("options") {
    // A program knows the members of GpuOptions, not the flags of the command line.
    const auto message = [](const auto& call) -> std::string {
      try {
        (void)call();
      } catch (const InvalidOption& error) {
        CHECK(std::string(error.what()).find("--") == std::string::npos);
        return error.what();
      }
      return "accepted";
    };
    CHECK(message([] { return Gpu::detect(simulated("nonsense")); }).starts_with("simulate: no profile 'nonsense'"));
    CHECK_THROWS_AS((void)Gpu::open("", simulated("rack")), InvalidOption);
    GpuOptions options = simulated("rack");
    options.without_collectors = {"nonsense"};
    CHECK(message([&] { return Gpu::detect(options); }) == "without_collectors: nonsense: there is no such collector");
    options = {};
    options.sysfs_root = "/nonsense";
    CHECK(message([&] { return Gpu::list(options); }).starts_with("sysfs_root: /nonsense: "));
  }
}

TEST_CASE("the first snapshot has ratios, watts and means") {
  OpenGpu gpu = Gpu::open("0000:00:02.0", simulated("rack"));
  const Snapshot snapshot = gpu.read();
  CHECK(snapshot.gpu.address == "0000:00:02.0");
  CHECK(snapshot.busy(EngineClass::video));
  CHECK(snapshot.power_of("gpu"));
  REQUIRE(snapshot.memory_bandwidth);
  for (const Bandwidth& row : *snapshot.memory_bandwidth) {
    INFO(row.direction);
    REQUIRE(row.rate);
    CHECK(row.rate->value > 0);
  }
}

TEST_CASE("an engine that the other source of its class measures is no failure, from the first reading on") {
  bool both = false;
  for (const SimulationProfile& profile : simulation_profiles()) {
    const auto parts = std::make_shared<SimulatedParts>(profile.name);
    GpuOptions options;
    options.min_window = 1ms;
    for (const auto& script : parts->simulated->script().gpus) {
      OpenGpu gpu = open_gpu([&] { return parts; }, script.address, options);
      for (int i = 0; i < 30; ++i) {
        parts->clock.advance(1s);
        const Snapshot snapshot = gpu.read();
        INFO(profile.name << " " << script.address << ", reading " << i + 1);
        if (!snapshot.engines) continue;
        for (const Engine& engine : *snapshot.engines) {
          INFO(engine.name);
          REQUIRE_FALSE(engine.busy.is_failure());
          if (engine.busy.is_absent()) CHECK(engine.busy.absent().reason != Reason::disabled);
          const bool elsewhere =
              std::any_of(snapshot.engines->begin(), snapshot.engines->end(), [&](const Engine& other) {
                return other.engine_class == engine.engine_class && other.source != engine.source && other.busy;
              });
          if (!engine.busy && elsewhere) CHECK(engine.busy.absent().reason == Reason::suspended);
          both = both || (!engine.busy && elsewhere);
          CHECK(engine.wait.is_failure() == false);
        }
        for (const EngineClassLoad& load : *snapshot.engine_classes) CHECK_FALSE(load.busy.is_failure());
      }
    }
  }
  CHECK(both);
}

TEST_CASE("a class is the mean over its engines") {
  const auto parts = std::make_shared<SimulatedParts>("rack");
  GpuOptions options;
  options.min_window = 1ms;
  for (const auto& script : parts->simulated->script().gpus) {
    OpenGpu gpu = open_gpu([&] { return parts; }, script.address, options);
    for (int i = 0; i < 4; ++i) {
      parts->clock.advance(5s);
      (void)gpu.read();
    }
    parts->clock.advance(5s);
    const Snapshot snapshot = gpu.read();
    INFO(script.address);
    REQUIRE(snapshot.engines);
    REQUIRE(snapshot.engine_classes);
    for (const EngineClassLoad& load : *snapshot.engine_classes) {
      INFO(to_string(load.engine_class));
      double sum = 0;
      unsigned engines = 0;
      for (const Engine& engine : *snapshot.engines) {
        if (engine.engine_class != load.engine_class || engine.source != EngineSource::pmu) continue;
        REQUIRE(engine.busy);
        sum += engine.busy->value;
        ++engines;
      }
      CHECK(load.engines == engines);
      REQUIRE(load.busy);
      CHECK(load.busy->value == doctest::Approx(sum / engines));
    }
  }
}

TEST_CASE("what is not permitted is absent with its reason and the hint that doctor prints, never 0") {
  RecordingLog log;
  MonitorOptions monitor_options;
  monitor_options.simulate = "locked";
  monitor_options.min_window = 1ms;
  Monitor monitor(monitor_options, log);
  const auto scrape = monitor.scrape({});
  OpenGpu gpu = Gpu::detect(simulated("locked"));
  const Snapshot snapshot = gpu.read();
  REQUIRE(snapshot.memory.is_absent());
  CHECK(snapshot.memory.absent().reason == Reason::permission);
  REQUIRE(snapshot.power.is_absent());
  CHECK(snapshot.power.absent().reason == Reason::permission);
  CHECK(snapshot.busy(EngineClass::render).is_absent());
  CHECK(snapshot.other_users.is_absent());
  CHECK(snapshot.frequency());
  const auto run = snapshot_collectors();  // by a Gpu
  std::size_t refused = 0;
  for (const Finding& finding : scrape->findings()) {
    if (!finding.device.empty() && finding.device != snapshot.gpu.address) continue;
    if (!finding.available && finding.absent.reason == Reason::disabled) continue;  // what this program leaves out
    if (finding.collector != "identity" && std::find(run.begin(), run.end(), finding.collector) == run.end()) continue;
    const FeatureState* state = snapshot.feature(finding.feature->name);
    INFO(finding.feature->name);
    REQUIRE(state != nullptr);
    CHECK(state->available == finding.available);
    CHECK(state->cause == finding.cause);
    CHECK(state->hint == finding.hint);
    refused += !finding.available && finding.absent.reason == Reason::permission && !finding.hint.empty();
  }
  CHECK(refused >= 4);
}

TEST_CASE("a sleeping GPU is not woken: everything is absent because it sleeps") {
  const auto parts = std::make_shared<SimulatedParts>("asleep");
  GpuOptions options;
  options.min_window = 1ms;
  OpenGpu gpu = open_gpu([&] { return parts; }, "", options);
  for (int i = 0; i < 5; ++i) {
    parts->clock.advance(10s);
    const Snapshot snapshot = gpu.read();
    REQUIRE(snapshot.suspended);
    CHECK(*snapshot.suspended);
    REQUIRE(snapshot.frequencies.is_absent());
    CHECK(snapshot.frequencies.absent().reason == Reason::suspended);
    CHECK(snapshot.rc6.absent().reason == Reason::suspended);
  }
  CHECK(parts->simulated->resumes() == 0);
}

TEST_CASE("collectors that the program leaves out are absent because they are disabled") {
  GpuOptions options = simulated("rack");
  options.processes = false;
  options.without_collectors = {"rc6"};
  const Snapshot snapshot = Gpu::detect(options).read();
  REQUIRE(snapshot.processes.is_absent());
  CHECK(snapshot.processes.absent().reason == Reason::disabled);
  REQUIRE(snapshot.rc6.is_absent());
  CHECK(snapshot.rc6.absent().reason == Reason::disabled);
  CHECK(snapshot.engines);
}

TEST_CASE("a GPU that is removed is gone, and is read again when it comes back") {
  Tree tree;
  add_gpu(tree.files, kIntegrated);
  OpenGpu gpu = Gpu::open("card0", tree.options);
  CHECK(gpu.read().gpu.render_node == "renderD128");
  std::filesystem::remove_all(tree.files.path("sys/class/drm/card0"));
  std::filesystem::remove_all(tree.files.path("sys/class/drm/renderD128"));
  CHECK_THROWS_AS((void)gpu.read(), GpuGone);
  CHECK_THROWS_AS((void)gpu.read(), GpuGone);
  add_gpu(tree.files, kIntegrated);
  CHECK(gpu.read().gpu.card == "card0");
}

TEST_CASE("thirty monitors opened, read and closed leave no descriptor and no thread") {
  const GpuOptions options = simulated("rack");
  Tree tree;
  add_gpu(tree.files, kIntegrated);
  const auto use = [&] {
    (void)Gpu::detect(options).read();
    (void)Gpu::detect(tree.options).read();
  };
  use();
  const std::ptrdiff_t before = open_descriptors();
  for (int i = 0; i < 30; ++i) use();
  CHECK(open_descriptors() == before);
  std::vector<OpenGpu> together;
  for (int i = 0; i < 20; ++i) together.push_back(Gpu::detect(tree.options));
  for (OpenGpu& gpu : together) (void)gpu.read();
  together.clear();
  CHECK(open_descriptors() == before);
  const std::filesystem::directory_iterator threads("/proc/self/task");
  CHECK(std::distance(begin(threads), end(threads)) >= 1);
}

TEST_CASE("after a fork the child and the parent go on reading, each for itself") {
  Tree tree;
  add_gpu(tree.files, kIntegrated);
  OpenGpu gpu = Gpu::detect(tree.options);
  (void)gpu.read();
  const std::ptrdiff_t before = open_descriptors();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool good = true;
    for (int i = 0; i < 3; ++i) good = good && gpu.read().gpu.card == "card0";
    ::_exit(good && open_descriptors() == before ? 0 : 1);
  }
  CHECK(gpu.read().gpu.card == "card0");
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(gpu.read().gpu.card == "card0");
}

namespace {

// Goes on by a millisecond whenever it is read, and as far as the test moves it.
class BusyClock final : public Clock {
 public:
  Nanoseconds now() const override { return Nanoseconds(now_ += 1'000'000); }
  void advance(Nanoseconds by) { now_ += by.count(); }

 private:
  mutable std::atomic<Nanoseconds::rep> now_{Nanoseconds(1h).count()};
};

class BusyParts final : public MachineParts {
 public:
  BusyClock clock;
  std::unique_ptr<SimulatedMachine> simulated = SimulatedMachine::create("arc-a770", clock);
  Machine& machine() override { return machine_; }

 private:
  Machine machine_ = simulated->machine();
};

}  // namespace

TEST_CASE("a read after a pause in which a counter may have wrapped measures a new window") {
  const auto parts = std::make_shared<BusyParts>();
  GpuOptions options;
  options.min_window = 1ms;
  OpenGpu gpu = open_gpu([&] { return parts; }, "", options);
  const auto watts = [&] {
    const auto power = gpu.read().power_of("package");
    REQUIRE(power);
    return power->value;
  };
  double most = 0;
  for (int i = 0; i < 60; ++i) {
    parts->clock.advance(1s);
    most = std::max(most, watts());
  }
  for (int i = 0; i < 5; ++i) {
    parts->clock.advance(2h);  // 131,072 J several times
    const double after = watts();
    CHECK(after > 5);  // 18 W were it the mean over two hours less the wraparounds
    CHECK(after < 2 * most);
  }
}

TEST_SUITE_END();
