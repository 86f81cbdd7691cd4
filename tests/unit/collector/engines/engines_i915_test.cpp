// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "collector/collectors.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kType = 17;
constexpr const char* kBusy = "intel_gpu_engine_busy_seconds_total";
constexpr const char* kBusyRatio = "intel_gpu_engine_busy_ratio";
constexpr const char* kWaitRatio = "intel_gpu_engine_wait_ratio";
constexpr const char* kSema = "intel_gpu_engine_sema_seconds_total";
constexpr const char* kInterrupts = "intel_gpu_interrupts_total";

Gpu integrated() {
  Gpu gpu;
  gpu.address = "0000:00:02.0";
  gpu.pci_path = "devices/pci0000:00/0000:00:02.0";
  gpu.card = "card0";
  gpu.render_node = "renderD128";
  gpu.driver = Driver::i915;
  return gpu;
}

void add_event(TestMachine& m, const std::string& name, const std::string& config) {
  const std::string events = "sys/bus/event_source/devices/i915/events/";
  m.tree.write(events + name, "config=" + config + "\n");
  if (name != "interrupts") m.tree.write(events + name + ".unit", "ns\n");
}

// A Tiger Lake's PMU: render, copy, two video engines.
struct TigerLake {
  TestMachine m;
  TigerLake() {
    const std::string pmu = "sys/bus/event_source/devices/i915/";
    m.tree.write(pmu + "type", "17\n");
    m.tree.write(pmu + "cpumask", "0\n");
    m.tree.write(pmu + "format/i915_eventid", "config:0-20\n");
    for (const auto& [engine, digits] :
         {std::pair("rcs0", "000"), std::pair("bcs0", "100"), std::pair("vcs0", "200"), std::pair("vcs1", "201")}) {
      add_event(m, std::string(engine) + "-busy", std::string("0x") + digits + "0");
      add_event(m, std::string(engine) + "-wait", std::string("0x") + digits + "1");
      add_event(m, std::string(engine) + "-sema", std::string("0x") + digits + "2");
    }
    add_event(m, "interrupts", "0x100002");
    add_event(m, "rc6-residency", "0x100003");
    m.perf.add_pmu(kType);
  }
  std::uint64_t& counter(std::uint64_t config) { return m.perf.counter(kType, config); }
};

// What fdinfo showed of i915 clients: busy nanoseconds of the video class.
struct Clients {
  ClientSnapshot snapshot;
  explicit Clients(Nanoseconds time) { snapshot.time = time; }
  Clients& client(std::uint64_t id, std::uint64_t video_ns, const char* device = "0000:00:02.0",
                  std::uint32_t capacity = 2) {
    DrmClient it;
    it.device = device;
    it.id = id;
    it.pid = static_cast<std::uint32_t>(1000 + id);
    it.time = snapshot.time;
    it.engines[2].busy_ns = video_ns;
    it.engines[2].capacity = capacity;
    snapshot.clients.push_back(std::move(it));
    return *this;
  }
};

}  // namespace

TEST_SUITE_BEGIN("engines of i915");

TEST_CASE("busy, wait and sema of every engine that the PMU lists") {
  TigerLake t;
  CollectorRun<engines_collector> engines(t.m, integrated());
  engines.collect();
  CHECK(engines.count(kBusy) == 4);
  CHECK(engines.count(kBusyRatio) == 0);  // no window yet
  CHECK(engines.value(kBusy, {{"engine", "rcs0"}}) == 0.0);

  t.counter(0x0000) += 500'000'000;
  t.counter(0x2010) += 1'500'000'000;
  t.counter(0x2011) += 200'000'000;
  t.counter(0x1002) += 20'000'000;
  t.counter(0x100002) += 240;
  engines.collect_after(2s);
  CHECK(*engines.value(
            kBusy,
            {{"device", "0000:00:02.0"}, {"gt", "0"}, {"engine", "rcs0"}, {"class", "render"}, {"source", "pmu"}}) ==
        doctest::Approx(0.5));
  CHECK(*engines.value(kBusyRatio, {{"engine", "rcs0"}}) == doctest::Approx(0.25));
  CHECK(*engines.value(kBusyRatio, {{"engine", "vcs1"}, {"class", "video"}}) == doctest::Approx(0.75));
  CHECK(*engines.value(kBusyRatio, {{"engine", "vcs0"}}) == 0.0);
  CHECK(*engines.value(kWaitRatio, {{"engine", "vcs1"}}) == doctest::Approx(0.1));
  CHECK(*engines.value(kSema, {{"engine", "bcs0"}, {"class", "copy"}}) == doctest::Approx(0.02));
  CHECK(engines.value(kInterrupts) == 240.0);
  for (const char* feature : {"engine_busy", "engine_wait_sema", "interrupts"}) CHECK(engines.available(feature));
  CHECK(t.m.perf.open_now == 13);
}

TEST_CASE("what the PMU measured is handed to the machine's collectors by class; without the PMU there is nothing") {
  TigerLake t;
  CollectorRun<engines_collector> engines(t.m, integrated());
  engines.collect();
  t.counter(0x2000) += 500'000'000;
  t.counter(0x2010) += 1'500'000'000;
  engines.collect_after(2s);
  REQUIRE(engines.measured);
  CHECK((*engines.measured)[static_cast<std::size_t>(EngineClass::video)] == doctest::Approx(2));
  CHECK((*engines.measured)[static_cast<std::size_t>(EngineClass::render)] == 0.0);
  CHECK_FALSE((*engines.measured)[static_cast<std::size_t>(EngineClass::compute)]);  // it has no such engine

  TestMachine without;
  CollectorRun<engines_collector> blind(without, integrated());
  blind.collect(Clients(1s).client(1, 5'000'000'000).snapshot);
  CHECK(blind.value(kBusy, {{"source", "fdinfo"}}) == 0);
  CHECK_FALSE(blind.measured);
}

TEST_CASE("an event with an unknown name is ignored") {
  TigerLake t;
  t.m.tree.write("sys/bus/event_source/devices/i915/events/rcs0", "config=0x9\n");
  CollectorRun<engines_collector> engines(t.m, integrated());
  engines.collect();
  CHECK(engines.count(kBusy) == 4);
}

TEST_CASE("a second scraper right after the first sees the same window") {
  TigerLake t;
  CollectorRun<engines_collector> engines(t.m, integrated());
  engines.collect();
  t.counter(0) += 500'000'000;
  engines.collect_after(1s);
  engines.collect_after(1ms);
  CHECK(*engines.value(kBusyRatio, {{"engine", "rcs0"}}) == doctest::Approx(0.4995).epsilon(0.001));
}

TEST_CASE("a jump never makes a ratio above 1; a step back makes no ratio") {
  TigerLake t;
  CollectorRun<engines_collector> engines(t.m, integrated());
  engines.collect();
  t.counter(0) += 60'000'000'000;
  engines.collect_after(1s);
  CHECK(engines.value(kBusyRatio, {{"engine", "rcs0"}}) == 1.0);
  t.counter(0) -= 30'000'000'000;
  engines.collect_after(1s);
  CHECK_FALSE(engines.value(kBusyRatio, {{"engine", "rcs0"}}));
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(60.0));
  t.counter(0) += 100'000'000;
  engines.collect_after(1s);
  CHECK(*engines.value(kBusyRatio, {{"engine", "rcs0"}}) == doctest::Approx(0.1));
  CHECK(*engines.value(kBusy, {{"engine", "rcs0"}}) == doctest::Approx(60.1));
}

TEST_CASE("sampled events can be turned off: no 200 Hz timer") {
  TigerLake t;
  CollectorRun<engines_collector> engines(t.m, integrated());
  engines.options["collector.engines.sampled-events"] = {"off"};
  engines.bind();
  engines.collect();
  CHECK(engines.count(kBusy) == 4);
  CHECK(engines.count(kSema) == 0);
  CHECK(engines.value(kInterrupts) == 0.0);
  CHECK(engines.missing("engine_wait_sema") == Reason::disabled);
  CHECK(t.m.perf.open_events == std::multiset<std::pair<std::uint32_t, std::uint64_t>>{
                                    {kType, 0}, {kType, 0x1000}, {kType, 0x2000}, {kType, 0x2010}, {kType, 0x100002}});
}

TEST_CASE("media engines belong to the media GT where there is one") {
  TestMachine m("meteorlake-i915-multigt");
  m.perf.add_pmu(static_cast<std::uint32_t>(std::stoul(m.tree.read("sys/bus/event_source/devices/i915/type"))));
  CollectorRun<engines_collector> engines(m, integrated());
  engines.collect();
  CHECK(engines.value(kBusy, {{"engine", "rcs0"}, {"gt", "0"}}));
  CHECK(engines.value(kBusy, {{"engine", "ccs0"}, {"gt", "0"}, {"class", "compute"}}));
  CHECK(engines.value(kBusy, {{"engine", "vcs0"}, {"gt", "1"}}));
  CHECK(engines.value(kBusy, {{"engine", "vecs0"}, {"gt", "1"}, {"class", "video_enhance"}}));
}

TEST_CASE("an engine whose event is refused is absent, the others count") {
  TigerLake t;
  t.m.perf.refuse(kType, 0x2000, ENODEV);
  CollectorRun<engines_collector> engines(t.m, integrated());
  engines.collect();
  CHECK(engines.count(kBusy) == 3);
  CHECK(engines.count(kBusy, {{"engine", "vcs0"}}) == 0);
  CHECK(engines.available("engine_busy"));
  CHECK(engines.failures() == 0);
}

TEST_CASE("a failed read is a failure and drops this scrape's series") {
  TigerLake t;
  CollectorRun<engines_collector> engines(t.m, integrated());
  engines.collect();
  t.m.perf.fail_reads(EIO);
  engines.collect_after(1s);
  CHECK(engines.count(kBusy) == 0);
  CHECK(engines.failures() == 1);
}

TEST_CASE("a PMU that cannot be opened is a failure, and the visible clients' time is counted until it can be") {
  TigerLake t;
  const std::string type = "sys/bus/event_source/devices/i915/type";
  t.m.tree.write(type, std::string(100, '1'));  // too long to be read
  CollectorRun<engines_collector> engines(t.m, integrated());
  engines.collect(Clients(t.m.clock.now()).client(1, 9'000'000'000).snapshot);
  CHECK(engines.failures() == 1);
  CHECK(engines.count(kBusy) == 0);  // once is no reason to change the source
  t.m.clock.advance(2s);
  engines.collect(Clients(t.m.clock.now()).client(1, 10'000'000'000).snapshot);
  CHECK(engines.failures() == 1);
  t.m.clock.advance(2s);
  engines.collect(Clients(t.m.clock.now()).client(1, 11'000'000'000).snapshot);
  CHECK(engines.failures() == 1);
  CHECK(*engines.value(kBusy, {{"class", "video"}, {"source", "fdinfo"}}) == doctest::Approx(1.0));
  CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 0);

  t.m.tree.write(type, "17\n");
  t.m.clock.advance(2s);
  engines.collect(Clients(t.m.clock.now()).client(1, 11'500'000'000).snapshot);
  CHECK(engines.failures() == 0);
  CHECK(*engines.value(kBusy, {{"class", "video"}, {"source", "fdinfo"}}) == doctest::Approx(1.5));
  t.counter(0x2000) += 1'000'000'000;
  t.m.clock.advance(2s);
  engines.collect(Clients(t.m.clock.now()).client(1, 12'500'000'000).snapshot);
  CHECK(*engines.value(kBusy, {{"class", "video"}, {"source", "fdinfo"}}) == doctest::Approx(1.5));
  CHECK(*engines.value(kBusy, {{"engine", "vcs0"}, {"source", "pmu"}}) == doctest::Approx(1.0));

  // While it is open it goes on counting: what clients do now is not counted twice.
  t.m.tree.write(type, std::string(100, '1'));
  t.m.clock.advance(2s);
  engines.collect(Clients(t.m.clock.now()).client(1, 13'500'000'000).snapshot);
  CHECK(engines.failures() == 1);
  CHECK(engines.count(kBusy) == 0);
}

TEST_CASE("without permission the visible clients' time is summed by class") {
  TigerLake t;
  t.m.perf.refuse_all(EACCES);
  CollectorRun<engines_collector> engines(t.m, integrated());
  // Time before the first reading does not count.
  engines.collect(
      Clients(t.m.clock.now()).client(1, 10'000'000'000).client(2, 0).client(9, 77, "0000:03:00.0").snapshot);
  CHECK(engines.missing("engine_busy") == Reason::permission);
  CHECK(engines.missing("engine_wait_sema") == Reason::permission);
  CHECK(engines.count(kBusy) == 3);  // the classes that the PMU lists: the other two are idle
  CHECK(engines.value(kBusy, {{"class", "video"}}) == 0.0);

  t.m.clock.advance(2s);
  engines.collect(Clients(t.m.clock.now())
                      .client(1, 11'000'000'000)
                      .client(2, 500'000'000)
                      .client(9, 5'000'000'000, "0000:03:00.0")
                      .snapshot);
  CHECK(*engines.value(kBusy, {{"gt", ""}, {"engine", "video"}, {"class", "video"}, {"source", "fdinfo"}}) ==
        doctest::Approx(1.5));
  CHECK(*engines.value(kBusyRatio, {{"class", "video"}, {"source", "fdinfo"}}) ==
        doctest::Approx(1.5 / 2 / 2));  // of two engines

  SUBCASE("a client that closes takes nothing back; one that appears counts whole") {
    t.m.clock.advance(2s);
    engines.collect(Clients(t.m.clock.now()).client(1, 11'000'000'000).client(3, 250'000'000).snapshot);
    CHECK(*engines.value(kBusy, {{"class", "video"}}) == doctest::Approx(1.75));
    t.m.clock.advance(2s);
    engines.collect(Clients(t.m.clock.now()).snapshot);
    CHECK(*engines.value(kBusy, {{"class", "video"}}) == doctest::Approx(1.75));
    CHECK(*engines.value(kBusyRatio, {{"class", "video"}}) == 0.0);
  }
  SUBCASE("a client that appears with more than fits into the time was there before, only hidden") {
    t.m.clock.advance(2s);
    engines.collect(Clients(t.m.clock.now())
                        .client(1, 11'000'000'000)
                        .client(2, 500'000'000)
                        .client(3, 3'600'000'000'000)
                        .snapshot);
    CHECK(*engines.value(kBusy, {{"class", "video"}}) == doctest::Approx(1.5));
    t.m.clock.advance(2s);
    engines.collect(Clients(t.m.clock.now()).client(3, 3'600'100'000'000).snapshot);
    CHECK(*engines.value(kBusy, {{"class", "video"}}) == doctest::Approx(1.6));
  }
  SUBCASE("values that step back are held") {
    t.m.clock.advance(2s);
    engines.collect(Clients(t.m.clock.now()).client(1, 10'900'000'000).client(2, 500'000'000).snapshot);
    CHECK(engines.value(kBusyRatio, {{"class", "render"}}) == 0.0);
    CHECK(*engines.value(kBusy, {{"class", "video"}}) == doctest::Approx(1.5));
    CHECK(engines.count(kBusyRatio, {{"class", "video"}}) == 0);
    t.m.clock.advance(2s);
    engines.collect(Clients(t.m.clock.now()).client(1, 11'100'000'000).client(2, 500'000'000).snapshot);
    CHECK(*engines.value(kBusy, {{"class", "video"}}) == doctest::Approx(1.6));
  }
  SUBCASE("a walk that was cut short loses nobody and counts nobody twice") {
    t.m.clock.advance(2s);
    Clients cut(t.m.clock.now());
    cut.client(2, 600'000'000).snapshot.complete = false;
    engines.collect(cut.snapshot);
    CHECK(*engines.value(kBusy, {{"class", "video"}}) == doctest::Approx(1.6));
    CHECK(engines.count(kBusyRatio) == 0);
    t.m.clock.advance(2s);
    engines.collect(
        Clients(t.m.clock.now()).client(1, 11'300'000'000).client(2, 600'000'000).client(4, 100'000'000).snapshot);
    CHECK(*engines.value(kBusy, {{"class", "video"}}) ==
          doctest::Approx(1.9));  // client 4 may be an old one: only from here on
  }
  SUBCASE("permission that is given later is used; what the clients counted stays, and the ratio goes on") {
    t.m.perf.refuse_all(0);
    t.m.clock.advance(2s);
    engines.collect(Clients(t.m.clock.now()).client(1, 12'000'000'000).client(2, 500'000'000).snapshot);
    CHECK(engines.count(kBusy, {{"source", "pmu"}}) == 4);
    CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "video"}}) == doctest::Approx(2.5));
    CHECK(engines.available("engine_busy"));
    CHECK(engines.count(kBusyRatio, {{"source", "pmu"}}) == 0);
    CHECK(*engines.value(kBusyRatio, {{"class", "video"}}) == doctest::Approx(1.0 / 2 / 2));
    t.counter(0x2000) += 200'000'000;
    engines.collect_after(400ms);
    CHECK(engines.count(kBusyRatio, {{"source", "pmu"}}) == 0);
    CHECK(*engines.value(kBusyRatio, {{"class", "video"}}) == doctest::Approx(1.2 / 2.4 / 2));
    t.counter(0x2000) += 200'000'000;
    engines.collect_after(800ms);
    CHECK(engines.count(kBusyRatio, {{"source", "fdinfo"}}) == 0);
    CHECK(*engines.value(kBusyRatio, {{"engine", "vcs0"}}) == doctest::Approx(0.4 / 1.2));
    CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "video"}}) == doctest::Approx(2.5));
    CHECK(*engines.value(kBusy, {{"engine", "vcs0"}}) == doctest::Approx(0.4));
    engines.bind();
    engines.collect_after(2s);
    CHECK(*engines.value(kBusy, {{"source", "fdinfo"}, {"class", "video"}}) == doctest::Approx(2.5));
    CHECK(engines.count(kBusyRatio) == 0);
    t.counter(0x2000) += 500'000'000;
    engines.collect_after(2s);
    CHECK(engines.count(kBusyRatio, {{"source", "fdinfo"}}) == 0);
    CHECK(*engines.value(kBusyRatio, {{"engine", "vcs0"}}) == doctest::Approx(0.25));
  }
  SUBCASE("rebound the sums go on") {
    engines.bind();
    t.m.clock.advance(2s);
    engines.collect(Clients(t.m.clock.now()).client(1, 400'000'000).snapshot);
    CHECK(*engines.value(kBusy, {{"class", "video"}}) == doctest::Approx(1.5));
    t.m.clock.advance(2s);
    engines.collect(Clients(t.m.clock.now()).client(1, 500'000'000).snapshot);
    CHECK(*engines.value(kBusy, {{"class", "video"}}) == doctest::Approx(1.6));
  }
}

TEST_CASE("a kernel without the PMU, and one that registers it shortly after the device") {
  TestMachine m;
  CollectorRun<engines_collector> engines(m, integrated());
  engines.collect();
  CHECK(engines.missing("engine_busy") == Reason::kernel);
  CHECK(engines.failures() == 0);
  const std::string pmu = "sys/bus/event_source/devices/i915/";
  m.tree.write(pmu + "type", "17\n");
  add_event(m, "rcs0-busy", "0x0");
  m.perf.add_pmu(kType);
  engines.collect();
  CHECK(engines.value(kBusy, {{"engine", "rcs0"}}) == 0.0);
}

TEST_CASE("a PMU without events of engines is no old kernel: the reason says what was found") {
  TestMachine m;
  m.tree.write("sys/bus/event_source/devices/i915/type", "17\n");
  add_event(m, "rc6-residency", "0x100003");
  add_event(m, "interrupts", "0x100002");
  m.perf.add_pmu(kType);
  CollectorRun<engines_collector> engines(m, integrated());
  engines.collect();
  for (const auto& noted : engines.sink().features()) {
    if (noted.feature->name != "engine_busy") continue;
    CHECK(noted.absent == Absent{Reason::kernel, EOPNOTSUPP});
    CHECK(noted.feature->kernel_absences.front().os_error == EOPNOTSUPP);
  }
  CHECK(engines.missing("engine_busy") == Reason::kernel);
  CHECK(engines.missing("engine_wait_sema") == Reason::kernel);
  CHECK(engines.available("interrupts"));
}

TEST_CASE("a virtual function has no PMU and never will") {
  TestMachine m;
  Gpu vf = integrated();
  vf.virtual_function = true;
  CollectorRun<engines_collector> engines(m, vf);
  engines.collect();
  CHECK(engines.missing("engine_busy") == Reason::hardware);
}

TEST_CASE("an integrated GPU's PMU counts are not reported for its virtual functions") {
  TigerLake t;
  Gpu vf = integrated();
  vf.address = "0000:00:02.1";
  vf.virtual_function = true;
  CollectorRun<engines_collector> engines(t.m, vf);
  engines.collect();
  CHECK(engines.count(kBusy) == 0);
  CHECK(engines.missing("engine_busy") == Reason::hardware);
}

TEST_CASE("when neither the PMU nor /proc answer there is no series") {
  TigerLake t;
  t.m.perf.refuse_all(EPERM);
  CollectorRun<engines_collector> engines(t.m, integrated());
  engines.collect(Failure{std::make_error_code(std::errc::io_error), "proc"});
  CHECK(engines.count(kBusy) == 0);
  CHECK(engines.failures() == 1);
  CHECK(engines.missing("engine_busy") == Reason::permission);
}
