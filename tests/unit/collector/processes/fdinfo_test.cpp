// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/collectors.h"
#include "collector/processes/fdinfo_usage.h"
#include "kernel/clients/client_walk.h"
#include "support/proc_tree.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* kBusy = "intel_gpu_process_engine_busy_seconds_total";
constexpr const char* kRatio = "intel_gpu_process_engine_busy_ratio";
constexpr const char* kMemory = "intel_gpu_process_memory_bytes";
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMegahertz = 1'000'000;

Gpu gpu_of(Driver driver) {
  Gpu gpu;
  gpu.address = driver == Driver::xe ? "0000:03:00.0" : "0000:00:02.0";
  gpu.driver = driver;
  gpu.render_node = "renderD128";
  return gpu;
}

struct Engine {
  EngineClass engine_class = EngineClass::render;
  std::uint64_t value = 0;  // ns or cycles
  std::uint32_t capacity = 1;
};

// Builds what a walk would have found, and hands it to the collector.
class Scene {
 public:
  explicit Scene(Driver driver, std::string max_processes = "4096")
      : driver_(driver), collector_(machine_, gpu_of(driver)) {
    collector_.options["collector.fdinfo.max-processes"] = {std::move(max_processes)};
    collector_.bind();
  }

  void process(std::uint32_t pid, std::uint64_t start = 1, std::string comm = "app") {
    ClientProcess p;
    p.pid = pid;
    p.start_time_ticks = start;
    p.comm = std::move(comm);
    snapshot_.processes.push_back(std::move(p));
    snapshot_.pids.push_back(pid);
  }
  DrmClient& client(std::uint32_t pid, std::uint64_t id, std::vector<Engine> engines = {}) {
    DrmClient c;
    c.device = gpu_of(driver_).address;
    c.driver = driver_;
    c.id = id;
    c.pid = pid;
    c.time = now();
    for (const Engine& e : engines) {
      ClientEngine& engine = c.engines[static_cast<std::size_t>(e.engine_class)];
      engine.capacity = e.capacity;
      if (driver_ == Driver::i915) {
        engine.busy_ns = e.value;
      } else {
        engine.cycles = e.value;
        engine.total_cycles = gpu_clock();
      }
    }
    snapshot_.clients.push_back(std::move(c));
    return snapshot_.clients.back();
  }
  // The render node may be opened: it reports the GPU's clock rate with its only GT.
  void open_render_node() { machine_.drm.add("renderD128", xe_clock_of(static_cast<std::uint32_t>(hertz))); }
  Nanoseconds now() const { return machine_.clock.now(); }
  std::uint64_t gpu_clock() const { return static_cast<std::uint64_t>(now().count()) / 1000 * hertz / kMegahertz; }
  void pass_time(Nanoseconds by) { machine_.clock.advance(by); }

  // The scrape of what was described since the last one.
  CollectorRun<fdinfo_collector>& scrape() {
    snapshot_.time = now();
    std::sort(snapshot_.clients.begin(), snapshot_.clients.end(),
              [](const DrmClient& a, const DrmClient& b) { return std::tie(a.pid, a.id) < std::tie(b.pid, b.id); });
    std::sort(snapshot_.processes.begin(), snapshot_.processes.end(),
              [](const ClientProcess& a, const ClientProcess& b) { return a.pid < b.pid; });
    std::sort(snapshot_.pids.begin(), snapshot_.pids.end());
    (void)collector_.collect(std::exchange(snapshot_, {}));
    return collector_;
  }
  ClientSnapshot& snapshot() { return snapshot_; }
  CollectorRun<fdinfo_collector>& collector() { return collector_; }

  std::uint64_t hertz = 19'200'000;

 private:
  Driver driver_;
  TestMachine machine_;
  CollectorRun<fdinfo_collector> collector_;
  ClientSnapshot snapshot_;
};

// One process with one client, scrape after scrape.
struct SimpleScene : Scene {
  using Scene::Scene;
  CollectorRun<fdinfo_collector>& scrape_with(std::uint64_t value, std::uint32_t capacity = 1) {
    process(7);
    client(7, 1, {{EngineClass::render, value, capacity}});
    return scrape();
  }
};

// A scan a second, each of one process that has ended at the next and used a second of CPU time.
class ShortProcesses {
 public:
  // Those with these PIDs, and the CPU seconds of the last one's series.
  double run(std::uint32_t first_pid, std::uint32_t count = 1) {
    double seconds = 0;
    for (std::uint32_t i = 0; i < count; ++i) seconds = run_one(first_pid + i);
    return seconds;
  }

 private:
  double run_one(std::uint32_t pid) {
    ClientSnapshot snapshot;
    snapshot.time = std::chrono::seconds(++scans_);
    DrmClient client;
    client.pid = pid;
    client.id = scans_;
    client.engines[0].busy_ns = 1;
    snapshot.clients.push_back(client);
    ClientProcess process;
    process.pid = pid;
    process.start_time_ticks = scans_;
    process.cpu = Seconds{1};
    snapshot.processes.push_back(process);
    snapshot.pids = {pid};
    ledgers_.count(snapshot, {}, {});
    return table_.update(snapshot, snapshot.clients, 10, 1s).processes.at(0).cpu->value;
  }

  UsageTable table_;
  ClientLedgers ledgers_;
  std::uint64_t scans_ = 0;
};

}  // namespace

TEST_SUITE_BEGIN("collector fdinfo");

TEST_CASE("without series by process only their number is left, and the features are still reported") {
  Scene scene(Driver::i915);
  scene.collector().options["collector.fdinfo.per-process"] = {"false"};
  scene.collector().bind();
  scene.process(7);
  scene.process(9);
  scene.client(7, 1, {{EngineClass::video, kSecond}});
  scene.client(7, 2, {{EngineClass::video, kSecond}});
  scene.client(9, 3, {{EngineClass::video, kSecond}});
  CollectorRun<fdinfo_collector>& run = scene.scrape();
  CHECK(run.value("intel_gpu_processes") == 2);
  CHECK(run.sink().samples().samples().size() == 1);
  CHECK(run.available("processes"));
  CHECK(run.available("process_engine_time"));
}

TEST_CASE("i915: time since the client was opened, then the share of the window") {
  SimpleScene scene(Driver::i915);
  auto& page = scene.scrape_with(5 * kSecond);
  CHECK(page.value(kBusy, {{"pid", "7"}, {"comm", "app"}, {"class", "render"}, {"device", "0000:00:02.0"}}) == 5.0);
  CHECK(page.count(kRatio) == 0);
  scene.pass_time(10s);
  scene.scrape_with(8 * kSecond);
  CHECK(page.value(kBusy) == 8.0);
  CHECK(page.value(kRatio) == doctest::Approx(0.3));
}

TEST_CASE("a ratio is of the class's capacity, and never above 1") {
  SimpleScene scene(Driver::i915);
  scene.scrape_with(0, 2);
  scene.pass_time(10s);
  auto& page = scene.scrape_with(15 * kSecond, 2);
  CHECK(page.value(kRatio) == doctest::Approx(0.75));
  CHECK(page.value(kBusy) == 15.0);
  scene.pass_time(10s);
  scene.scrape_with(15 * kSecond + 21 * kSecond, 2);
  CHECK(page.value(kRatio) == 1.0);
}

TEST_CASE("an engine class that the client does not print has no series; an idle one is 0") {
  SimpleScene scene(Driver::i915);
  auto& page = scene.scrape_with(0);
  CHECK(page.value(kBusy, {{"class", "render"}}) == 0.0);
  CHECK(page.count(kBusy) == 1);
}

TEST_CASE("two scrapers do not shorten each other's windows") {
  SimpleScene scene(Driver::i915);
  scene.scrape_with(0);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    scene.pass_time(9900ms);
    auto& page = scene.scrape_with(i * 10 * kSecond / 2 - kSecond / 20);
    CHECK(page.value(kRatio).value_or(0) == doctest::Approx(0.5).epsilon(0.01));
    scene.pass_time(100ms);
    scene.scrape_with(i * 10 * kSecond / 2);
    CHECK(page.value(kRatio).value_or(0) == doctest::Approx(0.5).epsilon(0.01));
  }
}

TEST_CASE("a value that steps back a little is held until it has caught up") {
  SimpleScene scene(Driver::i915);
  scene.scrape_with(100 * kSecond);
  scene.pass_time(10s);
  auto& page = scene.scrape_with(100 * kSecond - kSecond / 2);
  CHECK(page.value(kBusy) == 100.0);
  CHECK(page.count(kRatio) == 0);  // no ratio instead of a wrong one
  scene.pass_time(10s);
  scene.scrape_with(101 * kSecond);
  CHECK(page.value(kBusy) == 101.0);
  CHECK(page.value(kRatio) == doctest::Approx(0.15));  // 1.5 s really passed on the engine
}

TEST_CASE("a correction of a millisecond does not cost the ratio") {
  SimpleScene scene(Driver::i915);
  scene.scrape_with(100 * kSecond);
  scene.pass_time(10s);
  scene.scrape_with(104 * kSecond);
  scene.pass_time(10s);
  auto& page = scene.scrape_with(104 * kSecond - kMegahertz);
  CHECK(page.value(kBusy) == 104.0);
  CHECK(page.value(kRatio) == 0.0);
}

TEST_CASE("a counter that restarts continues from its last value") {
  SimpleScene scene(Driver::i915);
  scene.scrape_with(100 * kSecond);
  scene.pass_time(10s);
  auto& page = scene.scrape_with(kSecond);
  CHECK(page.value(kBusy) == 100.0);
  CHECK(page.count(kRatio) == 0);
  scene.pass_time(10s);
  scene.scrape_with(3 * kSecond);
  CHECK(page.value(kBusy) == 102.0);
  CHECK(page.value(kRatio) == doctest::Approx(0.2));
}

TEST_CASE("a closed client's time stays counted while its process lives") {
  Scene scene(Driver::i915);
  scene.process(7);
  scene.client(7, 1, {{EngineClass::video, 10 * kSecond}});
  scene.client(7, 2, {{EngineClass::video, 1 * kSecond}});
  auto& page = scene.scrape();
  CHECK(page.value(kBusy) == 11.0);
  CHECK(page.value("intel_gpu_process_clients") == 2.0);
  scene.pass_time(10s);
  scene.process(7);
  scene.client(7, 2, {{EngineClass::video, 2 * kSecond}});
  scene.scrape();
  CHECK(page.value(kBusy) == 12.0);
  CHECK(page.value(kRatio) == doctest::Approx(0.1));
  scene.pass_time(10s);
  scene.process(7);
  scene.client(7, 3, {{EngineClass::video, 1 * kSecond}});  // all new
  scene.scrape();
  CHECK(page.value(kBusy) == 13.0);
}

TEST_CASE("a process without clients has no series, and continues its counters when it opens one again") {
  Scene scene(Driver::i915);
  scene.process(7);
  scene.client(7, 1, {{EngineClass::video, 10 * kSecond}});
  scene.scrape();
  scene.pass_time(10s);
  scene.snapshot().pids = {7};  // it lives
  auto& page = scene.scrape();
  CHECK(page.count(kBusy) == 0);
  scene.pass_time(10s);
  scene.process(7);
  scene.client(7, 2, {{EngineClass::video, 1 * kSecond}});
  scene.scrape();
  CHECK(page.value(kBusy) == 11.0);
}

TEST_CASE(
    "a PID and a name that were given again are one series: it goes on, and no window reaches over both processes") {
  Scene scene(Driver::i915);
  const auto scrape = [&](std::uint64_t start, std::uint64_t id, std::uint64_t busy, double cpu) -> auto& {
    scene.process(7, start);
    scene.snapshot().processes.back().cpu = Seconds{cpu};
    scene.client(7, id, {{EngineClass::video, busy}});
    return scene.scrape();
  };
  scrape(100, 1, 90 * kSecond, 40);
  scene.pass_time(10s);
  auto& page = scrape(100, 1, 100 * kSecond, 50);
  scene.pass_time(10s);
  SUBCASE("between two scrapes") {}
  SUBCASE("after a while, and after the first one was forgotten") {
    scene.scrape();
    scene.pass_time(1h);
    scene.scrape();
  }
  scrape(200, 2, 2 * kSecond, 1);
  CHECK(page.value(kBusy) == 102.0);
  CHECK(page.value("intel_gpu_process_cpu_seconds_total") == 51.0);
  CHECK(page.count(kRatio) == 0);
  scene.pass_time(10s);
  scrape(200, 2, 5 * kSecond, 3);
  CHECK(page.value(kBusy) == 105.0);
  CHECK(page.value("intel_gpu_process_cpu_seconds_total") == 53.0);
  CHECK(page.value(kRatio) == doctest::Approx(0.3));
}

TEST_CASE("a PID reused under another name is another series") {
  Scene scene(Driver::i915);
  scene.process(7, 100, "one");
  scene.client(7, 1, {{EngineClass::video, 10 * kSecond}});
  scene.scrape();
  scene.pass_time(10s);
  scene.process(7, 200, "two");
  scene.client(7, 2, {{EngineClass::video, 1 * kSecond}});
  auto& page = scene.scrape();
  CHECK(page.value(kBusy, {{"comm", "two"}}) == 1.0);
  CHECK(page.count(kRatio) == 0);
}

TEST_CASE("a process that changes its name has two series, each with the time used under that name") {
  Scene scene(Driver::i915);
  const auto scrape = [&](std::string comm, std::uint64_t busy) -> auto& {
    scene.process(7, 100, std::move(comm));
    scene.client(7, 1, {{EngineClass::video, busy}});
    return scene.scrape();
  };
  auto& page = scrape("one", 10 * kSecond);
  scene.pass_time(10s);
  scrape("two", 13 * kSecond);
  CHECK(page.value(kBusy, {{"comm", "two"}}) == 3.0);
  CHECK(page.count(kBusy) == 1);
  scene.pass_time(10s);
  scrape("one", 14 * kSecond);
  CHECK(page.value(kBusy, {{"comm", "one"}}) == 11.0);
  scene.pass_time(10s);
  scrape("one", 16 * kSecond);
  CHECK(page.value(kBusy, {{"comm", "one"}}) == 13.0);
}

TEST_CASE(
    "an id that was given to another process' client: it counts whole, and the ratio shows what the counter gains") {
  Scene scene(Driver::i915);
  std::uint64_t first = 0;
  SUBCASE("of a client that had counted much") { first = 500 * kSecond; }
  SUBCASE("of a client that had counted little more") { first = kSecond / 2; }
  scene.process(7, 100);
  scene.client(7, 1, {{EngineClass::video, first}});
  scene.scrape();
  double before = 0;
  std::uint64_t busy = 0;
  auto& page = scene.collector();
  for (int i = 1; i <= 4; ++i) {
    scene.pass_time(1s);
    busy += kSecond / 5;
    scene.process(9, 200);
    if (i % 2 == 0) scene.process(7, 100);  // it lives on without a client, or has ended
    scene.client(9, 1, {{EngineClass::video, busy}});
    scene.scrape();
    CHECK(page.value(kBusy, {{"pid", "9"}}) == doctest::Approx(0.2 * i));
    if (i == 1) CHECK(page.count(kRatio) == 0);
    if (i > 1) CHECK(page.value(kRatio, {{"pid", "9"}}) == doctest::Approx(page.value(kBusy).value_or(0) - before));
    before = page.value(kBusy).value_or(0);
  }
}

TEST_CASE("a PID that is reused under the same name") {
  Scene scene(Driver::i915);
  scene.process(7, 100);
  scene.client(7, 1, {{EngineClass::video, 10 * kSecond}});
  scene.scrape();
  scene.pass_time(10s);
  scene.process(7, 200);
  scene.client(7, 1, {{EngineClass::video, 2 * kSecond}});
  CHECK(scene.scrape().value(kBusy) == 12.0);
}

TEST_CASE("a correction or an incomplete walk does not turn a shared client into a new one") {
  Scene scene(Driver::i915);
  scene.process(7);
  scene.client(7, 1, {{EngineClass::video, 50 * kSecond}});
  scene.scrape();
  scene.pass_time(10s);
  std::uint64_t busy = 50 * kSecond;
  SUBCASE("a millisecond") { busy -= kMegahertz; }
  SUBCASE("half a second, the holder from before was not scanned") {
    busy -= kSecond / 2;
    scene.snapshot().complete = false;
    scene.snapshot().pids = {7};
  }
  scene.process(9);
  scene.client(9, 1, {{EngineClass::video, busy}});
  CHECK(scene.scrape().value(kBusy, {{"pid", "9"}}) == 0.0);
}

TEST_CASE("an old client passed to a process counts in full, but not in this window") {
  Scene scene(Driver::i915);
  const auto describe = [&](std::uint64_t busy) {
    scene.process(7);
    scene.client(7, 1, {{EngineClass::video, busy}});
  };
  describe(0);
  scene.scrape();
  scene.pass_time(10s);
  describe(kSecond);
  scene.client(7, 2, {{EngineClass::video, 900 * kSecond}});
  auto& page = scene.scrape();
  CHECK(page.value(kBusy) == 901.0);
  CHECK(page.count(kRatio) == 0);
}

TEST_CASE(
    "whoever holds them, and whatever the processes are called: no client's time is in two series, and none is lost") {
  Scene scene(Driver::i915);
  std::map<std::string, double> series;  // the last value of each
  std::array<std::uint64_t, 6> busy{};
  std::uint64_t state = 12345;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  for (int scrape = 0; scrape < 300; ++scrape) {
    scene.pass_time(10s);
    std::map<std::uint32_t, bool> described;
    for (std::size_t i = 0; i < busy.size(); ++i) {
      busy[i] += random(5) * kSecond;
      const auto pid = static_cast<std::uint32_t>(10 + random(4));
      if (!std::exchange(described[pid], true)) scene.process(pid, 1 + random(3), random(2) == 0 ? "one" : "two");
      scene.client(pid, i, {{EngineClass::render, busy[i]}});
    }
    auto& page = scene.scrape();
    for (const auto& sample : page.sink().samples().samples()) {
      if (sample.metric->name != kBusy) continue;
      double& last = series[std::string(page.sink().samples().label_value(sample, 1)) + "/" +
                            std::string(page.sink().samples().label_value(sample, 2))];
      CHECK(sample.value >= last);
      last = sample.value;
    }
  }
  double reported = 0, used = 0;
  for (const auto& [labels, value] : series) reported += value;
  for (const std::uint64_t value : busy) used += static_cast<double>(value) / 1e9;
  CHECK(reported == doctest::Approx(used));
}

TEST_CASE("a client passed to another process counts there only from then on") {
  Scene scene(Driver::i915);
  scene.process(7);
  scene.client(7, 1, {{EngineClass::render, 50 * kSecond}});
  scene.scrape();
  scene.pass_time(10s);
  scene.process(9);  // 7 has ended, its child holds the descriptor
  scene.client(9, 1, {{EngineClass::render, 52 * kSecond}});
  auto& page = scene.scrape();
  CHECK(page.value(kBusy, {{"pid", "9"}}) == 2.0);
}

TEST_CASE("xe: cycles become seconds once the clock rate is known, earlier cycles included") {
  SimpleScene scene(Driver::xe);
  auto& page = scene.scrape_with(19'200'000 * 3);
  CHECK(page.count(kBusy) == 0);
  scene.pass_time(10s);
  scene.scrape_with(19'200'000 * 7);
  CHECK(page.value(kBusy) == doctest::Approx(7.0));
  CHECK(page.value(kRatio) == doctest::Approx(0.4));
}

TEST_CASE("xe: with access to the render node cycles are seconds on the first page") {
  SimpleScene scene(Driver::xe);
  scene.open_render_node();
  CHECK(scene.scrape_with(19'200'000 * 3).value(kBusy) == doctest::Approx(3.0));
}

TEST_CASE("xe: idle engines are 0 from the first scrape, whatever the clock") {
  SimpleScene scene(Driver::xe);
  CHECK(scene.scrape_with(0).value(kBusy) == 0.0);
}

TEST_CASE("xe: a wrapped 32-bit context timestamp lowers the sum by 2^32: no time is lost") {
  SimpleScene scene(Driver::xe);
  const std::uint64_t lap = std::uint64_t{1} << 32;
  std::uint64_t cycles = lap - 50'000'000;
  scene.scrape_with(cycles);
  scene.pass_time(10s);
  cycles += 19'200'000;
  auto& page = scene.scrape_with(cycles);
  const double before = page.value(kBusy).value_or(0);
  scene.pass_time(10s);
  cycles += 96'000'000;
  scene.scrape_with(cycles - lap);
  CHECK(page.value(kBusy).value_or(0) == doctest::Approx(before + 5.0));
  CHECK(page.value(kRatio) == doctest::Approx(0.5));
}

TEST_CASE("xe: a sum that underflows at a wrap does not become centuries") {
  SimpleScene scene(Driver::xe);
  const std::uint64_t lap = std::uint64_t{1} << 32;
  scene.scrape_with(1000);
  scene.pass_time(10s);
  auto& page = scene.scrape_with(1000 + 96'000'000 - lap);  // wraps through zero
  CHECK(page.value(kBusy).value_or(0) == doctest::Approx(5.0).epsilon(0.001));

  SimpleScene late(Driver::xe);  // seen for the first time in that state
  late.scrape_with(0 - lap / 2);
  late.pass_time(10s);
  late.scrape_with(0 - lap / 2 + 96'000'000);
  CHECK(late.collector().value(kBusy) == doctest::Approx(5.0));
}

TEST_CASE("xe: cycles without total cycles give a counter, no ratio") {
  Scene scene(Driver::xe);
  for (int i = 0; i < 3; ++i) {
    scene.pass_time(10s);
    scene.process(7);
    scene.process(8);
    scene.client(7, 1, {{EngineClass::copy, 0}});
    scene.client(8, 2, {{EngineClass::copy, 19'200'000u * static_cast<unsigned>(i)}}).engines[1].total_cycles.reset();
    scene.scrape();
  }
  CHECK(scene.collector().value(kBusy, {{"pid", "8"}}) == doctest::Approx(2.0));
  CHECK(scene.collector().count(kRatio, {{"pid", "8"}}) == 0);
}

TEST_CASE("hostile numbers do not reach the page") {
  SimpleScene scene(Driver::i915);
  const std::uint64_t values[] = {
      std::numeric_limits<std::uint64_t>::max(), 0, std::uint64_t{1} << 63, 5, 4, (std::uint64_t{1} << 63) - 1, 0};
  double last = 0;
  for (const std::uint64_t value : values) {
    auto& page = scene.scrape_with(value);
    const double busy = page.value(kBusy).value_or(-1);
    CHECK(busy >= last);
    last = busy;
    if (const auto ratio = page.value(kRatio)) CHECK((*ratio >= 0 && *ratio <= 1));
    scene.pass_time(10s);
  }
}

TEST_CASE("memory of distinct clients is summed by region and state; values not printed are absent") {
  Scene scene(Driver::i915);
  scene.process(7);
  scene.client(7, 1).memory = {{"system0", 100, 10, {}, 50, {}}, {"stolen-system0", 0, 0, 0, 0, 0}};
  scene.client(7, 2).memory = {{"system0", 1000, {}, 7, 500, {}}};
  auto& page = scene.scrape();
  CHECK(page.value(kMemory, {{"memory_region", "system0"}, {"state", "total"}}) == 1100.0);
  CHECK(page.value(kMemory, {{"memory_region", "system0"}, {"state", "shared"}}) == 10.0);
  CHECK(page.value(kMemory, {{"memory_region", "system0"}, {"state", "active"}}) == 7.0);
  CHECK(page.value(kMemory, {{"memory_region", "system0"}, {"state", "resident"}}) == 550.0);
  CHECK(page.count(kMemory, {{"memory_region", "system0"}, {"state", "purgeable"}}) == 0);
  CHECK(page.count(kMemory, {{"memory_region", "stolen-system0"}}) == 5);
}

TEST_CASE("above the limit the smallest recent users are dropped and counted; the others are sorted by PID") {
  Scene scene(Driver::i915, "2");
  const auto describe = [&](std::uint64_t busy_of_9) {
    for (const std::uint32_t pid : {5u, 9u, 12u, 30u}) scene.process(pid);
    scene.client(5, 1, {{EngineClass::render, 90 * kSecond}}).memory = {{"system0", 5, {}, {}, 5, {}}};
    scene.client(9, 2, {{EngineClass::render, busy_of_9}});
    scene.client(12, 3, {{EngineClass::render, 1 * kSecond}}).memory = {{"system0", 900, {}, {}, 900, {}}};
    scene.client(30, 4, {{EngineClass::render, 0}});
  };
  describe(kSecond);
  auto& page = scene.scrape();
  CHECK(page.value("intel_gpu_processes") == 4.0);
  CHECK(page.value("intel_gpu_processes_dropped") == 2.0);
  CHECK(page.count("intel_gpu_process_info") == 2);
  CHECK(page.count("intel_gpu_process_info", {{"pid", "5"}}) == 1);  // first scrape: most time so far

  scene.pass_time(10s);
  describe(4 * kSecond);
  scene.scrape();
  CHECK(page.count("intel_gpu_process_info", {{"pid", "9"}}) == 1);   // works now
  CHECK(page.count("intel_gpu_process_info", {{"pid", "12"}}) == 1);  // of the idle ones the largest memory
  CHECK(page.value(kBusy, {{"pid", "9"}}) == 4.0);                    // counted while it was not shown
}

TEST_CASE("a limit of 0 only counts processes") {
  SimpleScene scene(Driver::i915, "0");
  auto& page = scene.scrape_with(kSecond);
  CHECK(page.value("intel_gpu_processes") == 1.0);
  CHECK(page.value("intel_gpu_processes_dropped") == 1.0);
  CHECK(page.count("intel_gpu_process_info") == 0);
}

TEST_CASE("clients of other GPUs are ignored") {
  Scene scene(Driver::i915);
  scene.process(7);
  DrmClient other;
  other.device = "0000:03:00.0";
  other.pid = 7;
  scene.snapshot().clients.push_back(other);
  CHECK(scene.scrape().value("intel_gpu_processes") == 0.0);
}

TEST_CASE("process facts are reported beside GPU use; user, cgroup and ids on the info series") {
  Scene scene(Driver::i915);
  scene.process(7, 1, "Plex Transcoder");
  ClientProcess& process = scene.snapshot().processes.back();
  process.user = "plex";
  process.cgroup = "/docker/abc";
  process.container_id = std::string(64, 'a');
  process.cpu = Seconds{12.5};
  process.resident = Bytes{4096};
  scene.client(7, 1);
  auto& page = scene.scrape();
  CHECK(page.value(
            "intel_gpu_process_info",
            {{"user", "plex"}, {"cgroup", "/docker/abc"}, {"container_id", std::string(64, 'a')}, {"pod_uid", ""}}) ==
        1.0);
  CHECK(page.value("intel_gpu_process_cpu_seconds_total") == 12.5);
  CHECK(page.value("intel_gpu_process_resident_memory_bytes") == 4096.0);
  CHECK(page.count("intel_gpu_process_virtual_memory_bytes") == 0);
}

TEST_CASE("after a suspend windows restart and counters continue") {
  SimpleScene scene(Driver::xe);
  scene.scrape_with(0);
  scene.pass_time(10s);
  scene.scrape_with(19'200'000);
  scene.collector().collector().gpu_is_suspended();
  scene.pass_time(3600s);
  auto& page = scene.scrape_with(19'200'000 * 2);
  CHECK(page.value(kBusy) == doctest::Approx(2.0));
  CHECK(page.count(kRatio) == 0);
}

TEST_CASE("after a rebind the process continues its counters with new clients") {
  SimpleScene scene(Driver::i915);
  scene.scrape_with(50 * kSecond);
  scene.collector().bind();
  scene.pass_time(10s);
  auto& page = scene.scrape_with(2 * kSecond);  // same id, another client
  CHECK(page.value(kBusy) == 52.0);
}

TEST_CASE("no client counts twice after DRM nodes were renamed or the GPU was rebound under open descriptors") {
  for (const Driver driver : {Driver::i915, Driver::xe}) {
    SimpleScene scene(driver);
    scene.open_render_node();
    const std::uint64_t unit = driver == Driver::i915 ? kSecond : 19'200'000;
    scene.scrape_with(5 * unit);
    scene.collector().bind();
    scene.pass_time(10s);
    auto& page = scene.scrape_with(5 * unit);
    CHECK(page.value(kBusy) == doctest::Approx(5.0));
    CHECK(page.count(kRatio) == 0);
    scene.pass_time(10s);
    scene.scrape_with(7 * unit);
    CHECK(page.value(kBusy) == doctest::Approx(7.0));
    CHECK(page.value(kRatio) == doctest::Approx(0.2));
  }
}

TEST_CASE("the counters of an ended process go on when its PID is given again, up to a limit") {
  ShortProcesses processes;
  CHECK(processes.run(1, 20'000) == 1);
  CHECK(processes.run(20'000 - 6'000) == 2);
  CHECK(processes.run(20'000 - 9'000) == 1);
}

TEST_CASE("features: processes of others, engine time, memory") {
  Scene scene(Driver::i915);
  auto& page = scene.scrape();
  CHECK(page.available("processes"));
  for (const char* feature : {"process_engine_time", "process_memory"}) {  // no client has shown it yet
    CHECK_FALSE(page.available(feature));
    CHECK_FALSE(page.missing(feature).has_value());
  }

  scene.snapshot().processes_denied = 3;
  scene.process(7);
  scene.client(7, 1, {{EngineClass::render, 5}});
  scene.scrape();
  CHECK(page.missing("processes") == Reason::permission);
  CHECK(page.available("process_engine_time"));
  CHECK(page.missing("process_memory") == Reason::kernel);  // i915 before 6.8

  scene.snapshot().pids_hidden = true;
  CHECK(scene.scrape().missing("processes") == Reason::permission);
}

TEST_CASE(
    "files that could not be read beside a sleeping GPU: who uses this one is not known, so it is not said to be "
    "nobody") {
  Scene scene(Driver::i915);
  scene.snapshot().files_left_out = 3;
  auto& page = scene.scrape();
  CHECK(page.missing("processes") == Reason::suspended);
  CHECK(page.sink().features()[0].feature->need == Need::descriptor_links);
  CHECK(page.count("intel_gpu_processes") == 0);
  CHECK(page.count("intel_gpu_processes_dropped") == 0);

  scene.snapshot().files_left_out = 3;
  scene.process(7);
  scene.client(7, 1, {{EngineClass::render, 5 * kSecond}});
  scene.scrape();
  CHECK(page.value(kBusy) == 5.0);  // whom an earlier walk has seen
  CHECK(page.count("intel_gpu_processes") == 0);

  scene.snapshot().files_left_out = 3;
  scene.snapshot().processes_denied = 1;  // that comes first: without it the links help nothing
  scene.scrape();
  CHECK(page.sink().features()[0].feature->need == Need::other_processes);
}

TEST_CASE("a feature once seen in fdinfo stays available when no client is left") {
  Scene scene(Driver::i915);
  scene.process(7);
  scene.client(7, 1, {{EngineClass::render, 5}});
  auto& page = scene.scrape();
  CHECK(page.missing("process_memory") == Reason::kernel);
  scene.snapshot().clients.clear();
  scene.scrape();
  CHECK(page.available("process_engine_time"));
  CHECK(page.missing("process_memory") == Reason::kernel);
}

TEST_CASE("a failed walk is a failure without series") {
  Scene scene(Driver::i915);
  auto& page = scene.collector();
  (void)page.collect(Failure{std::make_error_code(std::errc::io_error), "proc"});
  CHECK(page.failures() == 1);
  CHECK(page.count("intel_gpu_processes") == 0);
}

TEST_CASE("from /proc to the page: two processes, a copied descriptor, a hostile name") {
  ProcTree tree;
  tree.add_process(7, {.comm = "ff\xffmpeg) S", .cpu_ticks = 150});
  tree.add_file(
      7, 3,
      i915_block("0000:00:02.0", 1,
                 "drm-engine-video:\t2000000000 ns\ndrm-engine-capacity-video:\t2\ndrm-resident-system0:\t8 MiB\n"));
  tree.add_process(8, {.comm = "heir"});
  tree.add_file(8, 3, i915_block("0000:00:02.0", 1, "drm-engine-video:\t2000000000 ns\n"));
  tree.add_file(8, 4, i915_block("0000:00:02.0", 2, "drm-engine-video:\t5 ns\n"));
  ClientWalk walk(tree.machine(), {});
  TestMachine machine;
  CollectorRun<fdinfo_collector> page(machine, gpu_of(Driver::i915));
  (void)page.collect(walk.find({}));
  CHECK(page.value(kBusy, {{"pid", "7"}, {"comm", "ff\xef\xbf\xbdmpeg) S"}, {"class", "video"}}) == 2.0);
  CHECK(page.value(kBusy, {{"pid", "8"}}) == 5e-9);
  CHECK(page.value(kMemory, {{"pid", "7"}, {"state", "resident"}}) == 8.0 * 1024 * 1024);
  CHECK(page.value("intel_gpu_process_cpu_seconds_total", {{"pid", "7"}}) == 1.5);
  CHECK(page.value("intel_gpu_process_info", {{"pid", "8"}, {"user", "alice"}}) == 1.0);
}

TEST_SUITE_END();
