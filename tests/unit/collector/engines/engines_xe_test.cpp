// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "collector/collectors.h"
#include "kernel/pmu/engine_events.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kType = 21;
constexpr std::uint64_t kTicksPerSecond = 19'200'000;
constexpr const char* kBusy = "intel_gpu_engine_busy_seconds_total";
constexpr const char* kBusyRatio = "intel_gpu_engine_busy_ratio";
constexpr const char* kActive = "intel_gpu_engine_active_ticks_total";
constexpr const char* kTicks = "intel_gpu_engine_ticks_total";

std::uint64_t active(std::uint64_t gt, std::uint64_t engine_class, std::uint64_t instance) {
  return gt << 60 | engine_class << 20 | instance << 12 | 2;
}

// DRM_IOCTL_XE_DEVICE_QUERY with id 0, as the driver answers it.
int answer_engines(void* argument) {
  struct Query {
    std::uint64_t extensions;
    std::uint32_t query, size;
    std::uint64_t data, reserved[2];
  };
  struct Header {
    std::uint32_t count, pad;
  };
  struct Engine {
    std::uint16_t engine_class, instance, gt, pad;
    std::uint64_t reserved[3];
  };
  constexpr std::array<Engine, 5> kEngines{
      {{0, 0, 0, 0, {}}, {1, 0, 0, 0, {}}, {4, 0, 0, 0, {}}, {2, 0, 1, 0, {}}, {3, 0, 1, 0, {}}}};
  constexpr std::uint32_t kSize = sizeof(Header) + sizeof(kEngines);
  auto& query = *static_cast<Query*>(argument);
  if (query.query != 0) return EINVAL;
  if (query.size == 0) {
    query.size = kSize;
    return 0;
  }
  if (query.size != kSize) return EINVAL;
  const Header header{kEngines.size(), 0};
  auto* to = reinterpret_cast<unsigned char*>(query.data);
  std::memcpy(to, &header, sizeof header);
  std::memcpy(to + sizeof header, kEngines.data(), sizeof kEngines);
  return 0;
}

// A Battlemage: render, copy and compute on GT 0, video and video enhancement on GT 1.
struct Battlemage {
  TestMachine m;
  Gpu gpu;
  std::uint64_t residency_ms[2] = {0, 0};
  std::uint64_t clock_ticks = 1'000'000'000;

  explicit Battlemage(bool with_node = true) {
    gpu.address = "0000:03:00.0";
    gpu.pci_path = "devices/pci0000:00/0000:03:00.0";
    gpu.card = "card0";
    gpu.render_node = "renderD128";
    gpu.driver = Driver::xe;
    gpu.kind = GpuKind::discrete;
    const std::string pmu = "sys/bus/event_source/devices/xe_0000_03_00.0/";
    m.tree.write(pmu + "type", "21\n");
    m.tree.write(pmu + "cpumask", "0\n");
    for (const auto& [field, bits] :
         {std::pair("event", "0-11"), std::pair("engine_instance", "12-19"), std::pair("engine_class", "20-27"),
          std::pair("function", "44-59"), std::pair("gt", "60-63")})
      m.tree.write(pmu + "format/" + field, std::string("config:") + bits + "\n");
    m.tree.write(pmu + "events/engine-active-ticks", "event=0x02\n");
    m.tree.write(pmu + "events/engine-total-ticks", "event=0x03\n");
    m.perf.add_pmu(kType);
    if (with_node) {
      m.drm.add(gpu.render_node, [](unsigned long request, void* argument) {
        return request == 0xc0286440 ? answer_engines(argument) : ENOTTY;
      });
    }
    sleep(0s, 0);
  }
  // Time passes; the GTs spend this share of it in C6.
  void sleep(Nanoseconds time, double share) {
    m.clock.advance(time);
    const double seconds = to_seconds(time).value;
    clock_ticks += static_cast<std::uint64_t>(seconds * kTicksPerSecond);
    for (const auto& [gt, engine_class] :
         {std::pair(0, 0), std::pair(0, 1), std::pair(0, 4), std::pair(1, 2), std::pair(1, 3)})
      m.perf.counter(kType, active(static_cast<std::uint64_t>(gt), static_cast<std::uint64_t>(engine_class), 0) + 1) +=
          static_cast<std::uint64_t>(seconds * kTicksPerSecond);
    for (std::size_t gt = 0; gt < 2; ++gt) {
      residency_ms[gt] += static_cast<std::uint64_t>(seconds * 1000 * share);
      m.tree.write("sys/" + gpu.pci_path + "/tile0/gt" + std::to_string(gt) + "/gtidle/idle_residency_ms",
                   std::to_string(residency_ms[gt]) + "\n");
    }
  }
  void pass_time(Nanoseconds time) { sleep(time, 1); }
  std::uint64_t& ticks(std::uint64_t gt, std::uint64_t engine_class) {
    return m.perf.counter(kType, active(gt, engine_class, 0));
  }

  // One client that has used the render class for this many cycles.
  ClientSnapshot client(std::uint64_t render_cycles, std::uint64_t id = 5) const {
    ClientSnapshot snapshot;
    snapshot.time = m.clock.now();
    DrmClient it;
    it.device = gpu.address;
    it.driver = Driver::xe;
    it.id = id;
    it.pid = 77;
    it.time = m.clock.now();
    it.engines[0].cycles = render_cycles;
    it.engines[0].total_cycles = clock_ticks;
    snapshot.clients.push_back(std::move(it));
    return snapshot;
  }
};

using Engines = CollectorRun<engines_collector>;

}  // namespace

TEST_SUITE_BEGIN("engines of xe");

TEST_CASE("an idle GPU's PMU is opened once and closed; its series are 0") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collect();
  CHECK(engines.available("engine_busy"));
  CHECK(engines.missing("engine_wait_sema") == Reason::kernel);
  CHECK(engines.missing("interrupts") == Reason::kernel);
  CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 5);
  CHECK(engines.value(kBusy, {{"gt", "1"}, {"engine", "vcs0"}, {"class", "video"}}) == 0.0);
  CHECK(engines.value(kTicks, {{"gt", "0"}, {"engine", "ccs0"}, {"class", "compute"}}) == 0.0);
  CHECK(b.m.perf.open_now == 0);
  const int opens = b.m.perf.opens;
  for (int i = 0; i < 20; ++i) {
    b.pass_time(15s);
    ClientSnapshot nobody;
    nobody.time = b.m.clock.now();
    engines.collect(nobody);
  }
  CHECK(b.m.perf.opens == opens);
  CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 5);
  CHECK(engines.count(kBusyRatio, {{"source", "pmu"}}) == 0);
  CHECK(engines.count(kBusyRatio, {{"source", "fdinfo"}}) == 5);
}

TEST_CASE("all clients visible, none busy: every class of the GPU is 0 from the first window on") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  SUBCASE("both may be used") {}
  SUBCASE("without perf permission") { b.m.perf.refuse_all(EACCES); }
  SUBCASE("xe-source=fdinfo") {
    engines.options["collector.engines.xe-source"] = {"fdinfo"};
    engines.bind();
  }
  ClientSnapshot nobody;
  engines.collect(nobody);
  CHECK(engines.count(kBusy, {{"source", "fdinfo"}}) == 5);
  b.pass_time(2s);
  nobody.time = b.m.clock.now();
  engines.collect(nobody);
  CHECK(engines.value(kBusyRatio, {{"source", "fdinfo"}, {"class", "video"}, {"engine", "video"}, {"gt", ""}}) == 0.0);
  CHECK(engines.count(kBusyRatio) == 5);

  SUBCASE("a scraper right behind") {
    b.pass_time(100ms);
    nobody.time = b.m.clock.now();
    engines.collect(nobody);
    CHECK(engines.count(kBusyRatio) == 5);
  }
  SUBCASE("a client that begins counts from that 0") {
    b.pass_time(8s);
    engines.collect(b.client(2 * kTicksPerSecond));
    CHECK(engines.count(kBusyRatio, {{"class", "render"}, {"source", "fdinfo"}}) ==
          0);  // the clock's rate is not known yet
    CHECK(engines.value(kBusyRatio, {{"class", "copy"}}) == 0.0);
    b.pass_time(8s);
    engines.collect(b.client(4 * kTicksPerSecond));
    CHECK(*engines.value(kBusy, {{"class", "render"}, {"source", "fdinfo"}}) >= 2.0);
  }
  SUBCASE("a client of a kernel that does not report engine time may do anything: unknown again") {
    ClientSnapshot silent = b.client(0);
    b.pass_time(8s);
    silent.time = b.m.clock.now();
    silent.clients[0].engines[0] = {};
    engines.collect(silent);
    CHECK(engines.count(kBusyRatio, {{"source", "fdinfo"}}) == 0);
    CHECK(engines.count(kBusy, {{"source", "fdinfo"}}) == 0);
  }
}

TEST_CASE("some clients hidden, no visible one busy: idleness is unknown") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  ClientSnapshot hidden;
  Reason reason = Reason::permission;
  SUBCASE("other users' processes") { hidden.processes_denied = 3; }
  SUBCASE("another PID namespace") { hidden.pids_hidden = true; }
  SUBCASE("files left out for another GPU's sleep") {
    hidden.files_left_out = 1;
    reason = Reason::suspended;
  }
  for (int i = 0; i < 5; ++i) {
    b.pass_time(10s);
    hidden.time = b.m.clock.now();
    engines.collect(hidden);
  }
  CHECK(engines.count(kBusyRatio) == 0);
  CHECK(engines.count(kBusy, {{"source", "fdinfo"}}) == 0);
  CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 5);
  CHECK(engines.missing("engine_busy") == reason);
  for (const auto& state : engines.sink().features())
    if (state.feature->name == "engine_busy") CHECK(state.feature->need != Need::perf_events);

  // What a hidden client does shows in the GTs' sleep: the PMU knows.
  b.sleep(10s, 0.5);
  hidden.time = b.m.clock.now();
  engines.collect(hidden);
  REQUIRE(b.m.perf.open_now == 10);
  b.sleep(10s, 0.5);
  b.ticks(0, 0) += 5 * kTicksPerSecond;
  hidden.time = b.m.clock.now();
  engines.collect(hidden);
  CHECK(engines.available("engine_busy"));
  CHECK(*engines.value(kBusyRatio, {{"engine", "rcs0"}}) == doctest::Approx(0.5));
}

TEST_CASE(
    "a walk that was cut short, or met a block that it cannot read, does not say idle; nor does it take counters "
    "away") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collect();
  ClientSnapshot snapshot;
  SUBCASE("cut short") { snapshot.complete = false; }
  SUBCASE("unreadable") { snapshot.blocks_skipped = 1; }
  b.pass_time(10s);
  snapshot.time = b.m.clock.now();
  engines.collect(snapshot);
  CHECK(engines.count(kBusyRatio) == 0);
  CHECK(engines.count(kBusy, {{"source", "fdinfo"}}) == 5);
}

TEST_CASE(
    "at a change-over a scraper within the shortest window has the class's ratio, over what both sources counted") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  const auto step = [&](Nanoseconds time, double busy, bool by_pmu, std::uint64_t cycles) {
    b.pass_time(time);
    if (by_pmu) b.ticks(0, 0) += static_cast<std::uint64_t>(to_seconds(time).value * busy * kTicksPerSecond);
    engines.collect(b.client(cycles));
  };
  engines.collect(b.client(0));
  step(10s, 0, false, 4 * kTicksPerSecond);
  REQUIRE(b.m.perf.open_now == 10);
  CHECK(*engines.value(kBusyRatio, {{"class", "render"}}) == doctest::Approx(0.4));
  // Two more within a second: 10 s at 0.4, then 0.3 s and 0.3 s at 0.8.
  step(300ms, 0.8, true, 4 * kTicksPerSecond + kTicksPerSecond * 24 / 100);
  CHECK(engines.count(kBusyRatio, {{"source", "pmu"}}) == 0);
  CHECK(engines.count(kBusyRatio, {{"source", "fdinfo"}}) == 5);
  CHECK(*engines.value(kBusyRatio, {{"class", "render"}}) == doctest::Approx((4.0 + 0.24) / 10.3));
  CHECK(engines.value(kBusyRatio, {{"class", "video"}}) == 0.0);
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(4.0));
  step(300ms, 0.8, true, 4 * kTicksPerSecond + kTicksPerSecond * 48 / 100);
  CHECK(*engines.value(kBusyRatio, {{"class", "render"}}) == doctest::Approx((4.0 + 0.48) / 10.6));
  // After the shortest window the engines' own counts are used.
  step(500ms, 0.8, true, 4 * kTicksPerSecond + kTicksPerSecond * 88 / 100);
  CHECK(engines.count(kBusyRatio, {{"source", "pmu"}}) == 5);
  CHECK(engines.count(kBusyRatio, {{"source", "fdinfo"}}) == 0);
  CHECK(*engines.value(kBusyRatio, {{"class", "render"}}) == doctest::Approx(0.8));

  SUBCASE("an active count that steps back makes no ratio of either") {
    b.ticks(0, 0) -= 100;
    b.pass_time(100ms);
    engines.collect(b.client(5 * kTicksPerSecond));
    CHECK(engines.count(kBusyRatio, {{"class", "render"}}) == 0);
  }
  SUBCASE("and back: a minute later the clients go on at once") {
    for (int i = 0; i < 6; ++i) step(10s, 0, true, 5 * kTicksPerSecond);
    REQUIRE(b.m.perf.open_now == 0);
    CHECK(engines.value(kBusyRatio, {{"engine", "rcs0"}}) == 0.0);
    step(200ms, 0, false, 5 * kTicksPerSecond);
    CHECK(engines.count(kBusyRatio, {{"source", "pmu"}}) == 0);
    CHECK(engines.value(kBusyRatio, {{"class", "render"}}) == 0.0);
    CHECK(engines.count(kBusyRatio) == 5);
  }
}

TEST_CASE("a PMU that is lost makes no ratio of uncounted time") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collect(b.client(0));
  b.pass_time(10s);
  engines.collect(b.client(4 * kTicksPerSecond));
  REQUIRE(b.m.perf.open_now == 10);
  b.pass_time(10s);
  SUBCASE("by the driver") {
    b.m.tree.write("sys/bus/event_source/devices/xe_0000_03_00.0/type", "");
    engines.collect(b.client(9 * kTicksPerSecond));
  }
  SUBCASE("by sleep in spite of it") { engines.collector().gpu_is_suspended(); }
  b.pass_time(100ms);
  engines.collect(b.client(9 * kTicksPerSecond));
  CHECK(engines.count(kBusyRatio) == 0);
}

TEST_CASE("a busy client opens the PMU, an idle minute closes it; no time is lost or counted twice") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collect(b.client(0));
  b.pass_time(10s);
  engines.collect(b.client(4 * kTicksPerSecond));  // 4 of 10 seconds
  CHECK(b.m.perf.open_now == 10);
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"engine", "render"}, {"gt", ""}}) == doctest::Approx(4.0));
  CHECK(*engines.value(kBusyRatio, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(0.4));
  CHECK(engines.value(kBusy, {{"engine", "rcs0"}}) == 0.0);
  CHECK(engines.count(kBusyRatio, {{"source", "pmu"}}) == 0);

  // Now the PMU measures; what the client gains is its.
  b.pass_time(10s);
  b.ticks(0, 0) += 5 * kTicksPerSecond;
  b.ticks(1, 2) += kTicksPerSecond;
  engines.collect(b.client(9 * kTicksPerSecond));
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}, {"source", "pmu"}}) == doctest::Approx(5.0));
  CHECK(*engines.value(kBusyRatio, {{"engine", "rcs0"}}) == doctest::Approx(0.5));
  CHECK(*engines.value(kBusyRatio, {{"engine", "vcs0"}, {"gt", "1"}}) == doctest::Approx(0.1));
  CHECK(engines.value(kActive, {{"engine", "rcs0"}}) == 5.0 * kTicksPerSecond);
  CHECK(engines.value(kTicks, {{"engine", "rcs0"}}) == 10.0 * kTicksPerSecond);
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(4.0));
  CHECK(engines.count(kBusyRatio, {{"source", "fdinfo"}}) == 0);

  // Idle for a minute.
  for (int i = 0; i < 5; ++i) {
    b.pass_time(10s);
    engines.collect(b.client(9 * kTicksPerSecond));
    CHECK(b.m.perf.open_now == 10);
  }
  b.pass_time(10s);
  engines.collect(b.client(9 * kTicksPerSecond));
  CHECK(b.m.perf.open_now == 0);
  CHECK(engines.value(kBusyRatio, {{"engine", "rcs0"}}) == 0.0);

  // It works again: the first stretch is the clients', with nothing of what the PMU has counted.
  b.pass_time(10s);
  engines.collect(b.client(11 * kTicksPerSecond));
  CHECK(b.m.perf.open_now == 10);
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(6.0));
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(5.0));
  b.pass_time(10s);
  b.ticks(0, 0) += kTicksPerSecond;
  engines.collect(b.client(12 * kTicksPerSecond));
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(6.0));
  CHECK(*engines.value(kBusyRatio, {{"engine", "rcs0"}}) == doctest::Approx(0.1));
  CHECK(engines.value(kActive, {{"engine", "rcs0"}}) == 6.0 * kTicksPerSecond);
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(6.0));
}

TEST_CASE("client time between the last walk and opening the PMU is counted at the next scrape") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collect(b.client(0));
  b.pass_time(10s);
  const ClientSnapshot seen = b.client(5 * kTicksPerSecond);
  b.pass_time(100ms);  // a long walk
  b.ticks(0, 0) += kTicksPerSecond / 20;
  engines.collect(seen);
  REQUIRE(b.m.perf.open_now == 10);
  const double before = *engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}});
  CHECK(before == doctest::Approx(5.0));

  SUBCASE("all of it, where all clients are visible") {
    b.pass_time(10s);
    b.ticks(0, 0) += 5 * kTicksPerSecond;
    engines.collect(b.client(10 * kTicksPerSecond + kTicksPerSecond / 20));
    CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(5.0));
    CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(5.05));
    // And only once.
    b.pass_time(10s);
    b.ticks(0, 0) += 5 * kTicksPerSecond;
    engines.collect(b.client(15 * kTicksPerSecond + kTicksPerSecond / 20));
    CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(5.05));
  }
  SUBCASE("never more than fits into it") {
    b.pass_time(10s);
    engines.collect(b.client(10 * kTicksPerSecond));
    CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(5.1));
  }
  SUBCASE("nothing, where others did more than the visible ones") {
    b.pass_time(10s);
    b.ticks(0, 0) += 9 * kTicksPerSecond;
    engines.collect(b.client(10 * kTicksPerSecond));
    CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(5.0));
  }
}

TEST_CASE("work of hidden clients is detected from GT residency") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collect();
  b.sleep(10s, 1);
  engines.collect();
  CHECK(b.m.perf.open_now == 0);
  b.sleep(10s, 0.9);
  engines.collect();
  CHECK(b.m.perf.open_now == 10);
}

TEST_CASE("GTs that never sleep when idle are learned: the PMU is closed after a minute and stays closed") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collect();
  const auto scrapes_open = [&](int scrapes) {
    int open = 0;
    for (int i = 0; i < scrapes; ++i) {
      b.sleep(10s, 0);
      engines.collect();
      open += b.m.perf.open_now != 0;
    }
    return open;
  };
  CHECK(scrapes_open(10) == 6);
  CHECK(scrapes_open(500) == 0);
}

TEST_CASE("what was learned is checked every ten minutes while processes are hidden") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  ClientSnapshot hidden;
  hidden.processes_denied = 3;
  engines.collect(hidden);
  int open = 0;
  for (int i = 0; i < 360; ++i) {  // an hour
    b.sleep(10s, 0);
    hidden.time = b.m.clock.now();
    engines.collect(hidden);
    open += b.m.perf.open_now != 0;
  }
  CHECK(open >= 5 * 6);
  CHECK(open <= 7 * 6);
}

TEST_CASE("without scrapes the housekeeping closes the PMU, and earlier work does not reopen it") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collect(b.client(0));
  b.pass_time(10s);
  engines.collect(b.client(kTicksPerSecond));
  REQUIRE(b.m.perf.open_now == 10);
  b.pass_time(10min);
  b.ticks(0, 0) += 100 * kTicksPerSecond;
  engines.collect(b.client(101 * kTicksPerSecond));
  CHECK(b.m.perf.open_now == 0);
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(100.0));
  b.pass_time(10min);
  engines.collect(b.client(201 * kTicksPerSecond));
  CHECK(b.m.perf.open_now == 0);
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(101.0));
  b.pass_time(10s);
  engines.collect(b.client(202 * kTicksPerSecond));
  CHECK(b.m.perf.open_now == 10);
}

TEST_CASE("active ticks that step back are held, and make no ratio") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.options["collector.engines.xe-source"] = {"pmu"};
  engines.bind();
  engines.collect();
  b.pass_time(1s);
  b.ticks(0, 0) += 5'000'000;
  engines.collect();
  b.ticks(0, 0) -= 100'000;
  b.pass_time(1s);
  engines.collect();
  CHECK(engines.value(kActive, {{"engine", "rcs0"}}) == 5'000'000.0);
  CHECK(engines.count(kBusyRatio, {{"engine", "rcs0"}}) == 0);
  CHECK(engines.value(kBusyRatio, {{"engine", "bcs0"}}) == 0.0);
  b.pass_time(1s);
  b.ticks(0, 0) += 9'700'000;
  engines.collect();
  CHECK(engines.value(kActive, {{"engine", "rcs0"}}) == 14'600'000.0);
  CHECK(*engines.value(kBusyRatio, {{"engine", "rcs0"}}) == doctest::Approx(9.7 / 19.2));
}

TEST_CASE("ticks reported late are spread over later time; no engine exceeds elapsed time") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.options["collector.engines.xe-source"] = {"pmu"};
  engines.bind();
  engines.collect();
  b.pass_time(1s);
  b.ticks(0, 0) += 19'200'000 + 1'920'000;
  engines.collect();
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(1.0));
  b.pass_time(1s);
  b.ticks(0, 0) += 9'600'000;
  engines.collect();
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(1.6));
  b.pass_time(1s);
  b.ticks(0, 0) += 100 * kTicksPerSecond;  // nonsense
  engines.collect();
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(2.6));
  b.pass_time(1s);
  b.pass_time(1s);
  engines.collect();
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(3.6));
}

TEST_CASE("xe-source=pmu never closes the PMU and ignores clients") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.options["collector.engines.xe-source"] = {"pmu"};
  engines.bind();
  engines.collect(b.client(0));
  for (int i = 0; i < 30; ++i) {
    b.pass_time(15s);
    engines.collect(b.client(7));
    CHECK(b.m.perf.open_now == 10);
  }
  CHECK(engines.count(kBusy, {{"source", "fdinfo"}}) == 0);
  CHECK(engines.value(kBusyRatio, {{"engine", "rcs0"}}) == 0.0);
}

TEST_CASE("xe-source=fdinfo never opens the PMU") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.options["collector.engines.xe-source"] = {"fdinfo"};
  engines.bind();
  engines.collect(b.client(0));
  b.pass_time(10s);
  engines.collect(b.client(kTicksPerSecond));
  CHECK(b.m.perf.opens == 0);
  CHECK(engines.missing("engine_busy") == Reason::disabled);
  CHECK(engines.count(kBusy) == 5);
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(1.0));
}

TEST_CASE("without permission fdinfo is the source; permission granted later is used") {
  Battlemage b;
  b.m.perf.refuse_all(EACCES);
  Engines engines(b.m, b.gpu);
  engines.collect(b.client(0));
  CHECK(engines.missing("engine_busy") == Reason::permission);
  b.pass_time(10s);
  engines.collect(b.client(3 * kTicksPerSecond));
  CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 0);
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(3.0));
  b.m.perf.refuse_all(0);
  b.pass_time(10s);
  engines.collect(b.client(3 * kTicksPerSecond));
  CHECK(engines.available("engine_busy"));
  CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 5);
  CHECK(b.m.perf.open_now == 0);
}

TEST_CASE("without access to the render node the engines come from the PMU") {
  Battlemage b(false);
  for (std::uint64_t gt = 0; gt < 2; ++gt)
    for (std::uint64_t engine_class = 0; engine_class < 5; ++engine_class)
      for (std::uint64_t instance = 0; instance < 9; ++instance) {
        const bool exists = instance == 0 && (gt == 0) == (engine_class < 2 || engine_class == 4);
        if (exists) continue;
        b.m.perf.refuse(kType, active(gt, engine_class, instance), ENOENT);
        b.m.perf.refuse(kType, active(gt, engine_class, instance) + 1, ENOENT);
      }
  Engines engines(b.m, b.gpu);
  engines.collect();
  CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 5);
  CHECK(engines.value(kBusy, {{"gt", "1"}, {"engine", "vecs0"}}) == 0.0);
  CHECK(b.m.perf.open_now == 0);
}

TEST_CASE("a PMU whose description leaves out some engines is not used: clients are counted for all of them") {
  Battlemage b;
  const std::string gt = "sys/bus/event_source/devices/xe_0000_03_00.0/format/gt";
  SUBCASE("no field for the GT") { b.m.tree.remove(gt); }
  SUBCASE("the GT is in another word") { b.m.tree.write(gt, "config1:0-3\n"); }
  Engines engines(b.m, b.gpu);
  engines.collect(b.client(0));
  CHECK(engines.missing("engine_busy") == Reason::kernel);
  b.pass_time(10s);
  engines.collect(b.client(kTicksPerSecond));
  CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 0);
  CHECK(engines.count(kBusy, {{"source", "fdinfo"}}) == 5);
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(1.0));
  CHECK(b.m.perf.open_now == 0);
  CHECK(engines.failures() == 0);
}

TEST_CASE(
    "without access to the render node, too, a PMU that leaves out some engines is not used, and not opened again") {
  Battlemage b(false);
  b.m.tree.remove("sys/bus/event_source/devices/xe_0000_03_00.0/format/gt");
  Engines engines(b.m, b.gpu);
  engines.collect(b.client(0));
  CHECK(engines.missing("engine_busy") == Reason::kernel);
  const int opens = b.m.perf.opens;
  b.pass_time(10s);
  engines.collect(b.client(kTicksPerSecond));
  CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 0);
  CHECK(engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}));
  CHECK(b.m.perf.opens == opens);
  CHECK(b.m.perf.open_now == 0);
  CHECK(engines.failures() == 0);
}

TEST_CASE("xe-source=pmu reports the engines that the PMU describes") {
  Battlemage b;
  b.m.tree.remove("sys/bus/event_source/devices/xe_0000_03_00.0/format/gt");
  Engines engines(b.m, b.gpu);
  engines.options["collector.engines.xe-source"] = {"pmu"};
  engines.bind();
  engines.collect(b.client(0));
  CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 3);  // those of GT 0
  CHECK(engines.count(kBusy, {{"gt", "1"}}) == 0);
}

TEST_CASE("firmware that is too old for the events") {
  Battlemage b;
  b.m.tree.remove("sys/bus/event_source/devices/xe_0000_03_00.0/events/engine-total-ticks");
  Engines engines(b.m, b.gpu);
  engines.collect(b.client(0));
  CHECK(engines.missing("engine_busy") == Reason::kernel);
  b.pass_time(10s);
  engines.collect(b.client(kTicksPerSecond));
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(1.0));
  CHECK(b.m.perf.opens == 0);
}

TEST_CASE("a suspended GPU has no open PMU; after resume client time continues") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collect(b.client(0));
  b.pass_time(10s);
  engines.collect(b.client(kTicksPerSecond));
  REQUIRE(b.m.perf.open_now == 10);
  engines.collector().gpu_is_suspended();
  CHECK(b.m.perf.open_now == 0);
  b.m.clock.advance(1h);  // its clock does not advance
  engines.collect(b.client(2 * kTicksPerSecond));
  CHECK(b.m.perf.open_now == 0);
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(1.0));
  b.pass_time(10s);
  engines.collect(b.client(3 * kTicksPerSecond));
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(2.0));
  CHECK(b.m.perf.open_now == 10);
}

TEST_CASE("a client that wakes a sleeping GPU counts from its first cycle, though the clock's rate is learned later") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collector().gpu_is_suspended();
  b.pass_time(10s);
  engines.collect(b.client(5 * kTicksPerSecond));
  CHECK(b.m.perf.open_now == 10);
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == 0.0);
  b.pass_time(10s);
  engines.collect(b.client(9 * kTicksPerSecond));  // the PMU measures now; the rate is still learned from the clients
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(5.0));
}

TEST_CASE("a client with more cycles than fit since the GPU was seen asleep is older than that") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collector().gpu_is_suspended();
  b.pass_time(10s);
  engines.collect(b.client(5000 * kTicksPerSecond));
  b.pass_time(10s);
  engines.collect(b.client(5001 * kTicksPerSecond));
  b.pass_time(10s);
  engines.collect(b.client(5002 * kTicksPerSecond));
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(1.0));
}

TEST_CASE("a failed read is a failure and leaves the PMU open; a lost device closes it") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.collect(b.client(0));
  b.pass_time(10s);
  engines.collect(b.client(kTicksPerSecond));
  REQUIRE(b.m.perf.open_now == 10);
  b.m.perf.fail_reads(EIO);
  b.pass_time(10s);
  engines.collect(b.client(kTicksPerSecond));
  CHECK(engines.failures() == 1);
  CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 0);
  b.m.perf.fail_reads(0);
  b.pass_time(10s);
  b.ticks(0, 0) += kTicksPerSecond;
  engines.collect(b.client(2 * kTicksPerSecond));
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(1.0));

  b.m.tree.write("sys/bus/event_source/devices/xe_0000_03_00.0/type", "");
  b.pass_time(10s);
  engines.collect(b.client(3 * kTicksPerSecond));
  CHECK(b.m.perf.open_now == 0);
  CHECK(engines.missing("engine_busy") == Reason::kernel);
  b.pass_time(10s);
  engines.collect(b.client(4 * kTicksPerSecond));
  CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "render"}}) == doctest::Approx(2.0));
}

TEST_CASE("counters continue after the GPU is rebound") {
  Battlemage b;
  Engines engines(b.m, b.gpu);
  engines.options["collector.engines.xe-source"] = {"pmu"};
  engines.bind();
  engines.collect();
  b.pass_time(10s);
  b.ticks(0, 0) += kTicksPerSecond;
  engines.collect();
  engines.bind();
  b.m.perf.counter(kType, active(0, 0, 0)) = 0;
  b.pass_time(10s);
  engines.collect();
  b.pass_time(10s);
  b.ticks(0, 0) += kTicksPerSecond;
  engines.collect();
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(2.0));
  CHECK(engines.value(kActive, {{"engine", "rcs0"}}) == 2.0 * kTicksPerSecond);
}

namespace {

// A Battlemage that is a physical function: the PMU counts each function for itself.
struct HostOfFunctions : Battlemage {
  Engines engines;

  HostOfFunctions() : engines(with_functions(*this, 0).m, gpu) {
    engines.options["collector.engines.xe-source"] = {"pmu"};
    engines.bind();
  }
  static Battlemage& with_functions(Battlemage& b, std::uint64_t count) {
    b.m.tree.write("sys/" + b.gpu.pci_path + "/sriov_numvfs", std::to_string(count) + "\n");
    return b;
  }
  void enable(std::uint64_t count) { with_functions(*this, count); }
  std::uint64_t& ticks_of(std::uint64_t vf, std::uint64_t gt, std::uint64_t engine_class) {
    return m.perf.counter(kType, active(gt, engine_class, 0) | vf << 44);
  }
  // The render engine works for each function for this share of the time, the host's own first.
  void work(Nanoseconds time, const std::vector<double>& shares) {
    pass_time(time);
    for (std::size_t i = 0; i < shares.size(); ++i)
      ticks_of(i, 0, 0) += static_cast<std::uint64_t>(shares[i] * to_seconds(time).value * kTicksPerSecond);
  }
  double busy() const { return engines.value(kBusy, {{"engine", "rcs0"}, {"source", "pmu"}}).value_or(-1); }
  double ratio() const { return engines.value(kBusyRatio, {{"engine", "rcs0"}, {"source", "pmu"}}).value_or(-1); }
  const VfEngineTime& of(std::uint32_t vf) const {
    for (const VfEngineTime& time : engines.vf_engines->times)
      if (time.vf == vf && time.engine == "rcs0") return time;
    throw std::logic_error("no such function");
  }
};

}  // namespace

TEST_CASE("with virtual functions enabled an engine is as busy as all functions together") {
  HostOfFunctions b;
  b.enable(2);
  b.engines.collect();
  b.work(10s, {0.1, 0.3, 0.2});
  b.engines.collect();
  CHECK(b.ratio() == doctest::Approx(0.6));
  CHECK(b.busy() == doctest::Approx(6.0));
  REQUIRE(b.engines.vf_engines);
  CHECK(b.engines.vf_engines->counted);
  CHECK(b.engines.vf_engines->times.size() == 2 * 5);
  CHECK(b.of(1).nanoseconds == 3'000'000'000);
  CHECK(b.of(1).ratio->value == doctest::Approx(0.3));
  CHECK(b.of(2).nanoseconds == 2'000'000'000);
  // The raw pair is the host's own function.
  CHECK(b.engines.value(kActive, {{"engine", "rcs0"}}) == 0.1 * 10 * kTicksPerSecond);
  CHECK(b.engines.value(kTicks, {{"engine", "rcs0"}}) == 10.0 * kTicksPerSecond);
  // Collectors of the machine get the sum, too.
  CHECK((*b.engines.measured)[0].value_or(0) == doctest::Approx(6.0));
  // All functions are in the one group that is read anyway: one read for each scrape.
  CHECK(b.m.perf.open_now == 5 * (2 + 2));
  const int reads = b.m.perf.reads;
  b.work(1s, {0, 0, 1});
  b.engines.collect();
  CHECK(b.m.perf.reads == reads + 1);
}

TEST_CASE("a number of functions that cannot be read is not known, and nothing that was counted is lost") {
  HostOfFunctions b;
  b.enable(2);
  b.engines.collect();
  b.work(10s, {0.1, 0.3, 0.2});
  b.engines.collect();
  REQUIRE(b.engines.vf_engines);
  CHECK(*b.engines.vf_engines->enabled == 2);
  b.m.tree.write("sys/" + b.gpu.pci_path + "/sriov_numvfs", "70000\n");
  b.work(10s, {0.1, 0.3, 0.2});
  b.engines.collect();
  CHECK(b.engines.vf_engines->enabled.is_failure());
  b.enable(2);
  b.engines.collect();
  CHECK(*b.engines.vf_engines->enabled == 2);
  CHECK(b.of(1).nanoseconds == 6'000'000'000);
}

TEST_CASE("functions that together report more than the time keep their parts; the sum stays a ratio") {
  HostOfFunctions b;
  b.enable(2);
  b.engines.collect();
  b.work(10s, {0.2, 0.7, 0.6});
  b.engines.collect();
  CHECK(b.ratio() == 1);
  CHECK(b.of(1).ratio->value == doctest::Approx(0.7));
}

TEST_CASE("a function whose ticks step back makes no ratio of the engine, whatever the others gain; they count") {
  HostOfFunctions b;
  b.enable(2);
  b.engines.collect();
  b.work(10s, {0.4, 0.3});
  b.engines.collect();
  CHECK(b.ratio() == doctest::Approx(0.7));
  b.ticks_of(1, 0, 0) -= 2 * static_cast<std::uint64_t>(kTicksPerSecond);
  b.work(10s, {0.5, 0});
  b.engines.collect();
  CHECK(b.ratio() == -1);
  CHECK(b.busy() == doctest::Approx(7.0 + 5.0));
  b.work(10s, {0.5, 0.1});
  b.engines.collect();
  CHECK(b.ratio() == doctest::Approx(0.6));
}

TEST_CASE("functions are enabled and disabled under load: the events are opened again, and nothing jumps") {
  HostOfFunctions b;
  b.engines.collect();
  b.work(10s, {0.5});
  b.engines.collect();
  CHECK(b.busy() == doctest::Approx(5.0));
  CHECK_FALSE(b.engines.vf_engines);
  // The driver moves what it has counted to other buffers; events that are open see it as a jump.
  b.enable(2);
  b.ticks_of(0, 0, 0) += 900'000'000'000;
  b.pass_time(10s);
  b.engines.collect();
  CHECK(b.busy() == doctest::Approx(5.0));
  CHECK(b.engines.count(kBusyRatio, {{"source", "pmu"}}) == 0);  // no window yet
  b.work(10s, {0.1, 0.4, 0.1});
  b.engines.collect();
  CHECK(b.busy() == doctest::Approx(11.0));
  CHECK(b.ratio() == doctest::Approx(0.6));
  b.enable(0);
  b.ticks_of(0, 0, 0) -= 900'000'000'000;
  b.ticks_of(1, 0, 0) += 900'000'000'000;
  b.pass_time(10s);
  b.engines.collect();
  CHECK(b.busy() == doctest::Approx(11.0));
  CHECK_FALSE(b.engines.vf_engines);
  CHECK(b.m.perf.open_now == 5 * 2);
  // What a function has counted goes on when it is there again.
  b.enable(1);
  b.engines.collect();
  b.work(10s, {0, 0.1});
  b.engines.collect();
  CHECK(b.of(1).nanoseconds == 5'000'000'000);
  CHECK(b.busy() == doctest::Approx(12.0));
}

TEST_CASE("functions are disabled and as many enabled again between two scrapes: their counts begin anew") {
  HostOfFunctions b;
  const std::string link = "sys/" + b.gpu.pci_path + "/virtfn0";
  const auto enable_first = [&](const std::string& folder) {
    b.m.tree.remove(link);
    b.m.tree.write("sys/devices/" + folder + "/vendor", "0x8086\n");
    b.m.tree.link(link, "../../" + folder);
  };
  enable_first("one");
  b.enable(1);
  b.engines.collect();
  b.work(10s, {0.1, 0.05});
  b.engines.collect();
  CHECK(b.busy() == doctest::Approx(1.5));
  // Less than a second of ticks goes back, which is otherwise taken for an estimate that is corrected and waited for.
  enable_first("another");
  b.ticks_of(1, 0, 0) = 0;
  b.pass_time(10s);
  b.engines.collect();
  CHECK(b.busy() == doctest::Approx(1.5));
  b.work(10s, {0.1, 0.04});
  b.engines.collect();
  CHECK(b.busy() == doctest::Approx(2.9));
  CHECK(b.of(1).nanoseconds == 900'000'000);
}

TEST_CASE("a kernel whose PMU does not count functions: the host's own share, and the reason") {
  HostOfFunctions b;
  b.m.tree.remove("sys/bus/event_source/devices/xe_0000_03_00.0/format/function");
  b.enable(2);
  b.engines.collect();
  b.work(10s, {0.1, 0.3, 0.2});
  b.engines.collect();
  CHECK(b.ratio() == doctest::Approx(0.1));
  REQUIRE(b.engines.vf_engines);
  REQUIRE(b.engines.vf_engines->counted.is_absent());
  CHECK(b.engines.vf_engines->counted.absent().reason == Reason::kernel);
}

TEST_CASE("without permission for the PMU the functions have the same reason") {
  HostOfFunctions b;
  b.m.perf.refuse_all(EACCES);
  b.enable(2);
  b.engines.collect();
  REQUIRE(b.engines.vf_engines);
  REQUIRE(b.engines.vf_engines->counted.is_absent());
  CHECK(b.engines.vf_engines->counted.absent().reason == Reason::permission);
}

TEST_CASE("a virtual function follows no functions, and a number that cannot be is a failure") {
  HostOfFunctions b;
  b.enable(2);
  SUBCASE("the host uses the function itself") {
    b.gpu.virtual_function = true;
    Engines engines(b.m, b.gpu);
    engines.collect();
    CHECK_FALSE(engines.vf_engines);
  }
  SUBCASE("four billion functions") {
    b.enable(4'294'967'295);
    b.engines.collect();
    CHECK(b.engines.failures() == 1);
    CHECK(b.m.perf.open_now == 5 * 2);
  }
}

TEST_CASE("an idle host of functions is not kept awake; a function that works opens the PMU") {
  HostOfFunctions b;
  b.engines.options.clear();  // auto
  b.engines.bind();
  b.enable(2);
  const auto collect = [&] {
    ClientSnapshot nobody;  // who works in a virtual function is not seen here
    nobody.time = b.m.clock.now();
    b.engines.collect(nobody);
  };
  for (int i = 0; i < 20; ++i) {
    collect();
    CHECK(b.m.perf.open_now == (i < 4 ? 5 * (2 + 2) : 0));  // for a minute
    CHECK(b.engines.vf_engines->counted);
    CHECK(b.engines.value(kBusyRatio, {{"class", "render"}}).value_or(0) == 0);
    b.pass_time(15s);
  }
  b.sleep(15s, 0.2);
  b.ticks_of(1, 0, 0) += 12 * kTicksPerSecond;
  collect();
  CHECK(b.m.perf.open_now == 5 * (2 + 2));
  CHECK(b.engines.count(kBusyRatio) == 0);  // 0 by the clients would be wrong
  for (int i = 0; i < 8; ++i) {
    b.sleep(15s, 0);
    b.ticks_of(1, 0, 0) += 12 * kTicksPerSecond;
    collect();
    CHECK(b.ratio() == doctest::Approx(0.8));
  }
  for (int i = 0; i < 5; ++i) {
    b.sleep(15s, 0);
    collect();
  }
  CHECK(b.m.perf.open_now == 0);
  CHECK(b.of(1).nanoseconds == 8 * 12'000'000'000);  // it stands
  CHECK_FALSE(b.of(1).ratio);
}

TEST_CASE("total ticks of a time slice: the clock's rate tells what the engine had") {
  CHECK(ticks_of_engine(48, 10s, 19.2) == 192);
  CHECK(ticks_of_engine(191, 10s, 19.2) == 191);  // the whole, as far as it was read
  CHECK(ticks_of_engine(48, 10s, std::nullopt) == 48);
}
