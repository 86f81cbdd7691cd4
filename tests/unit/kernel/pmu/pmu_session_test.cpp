// SPDX-License-Identifier: Apache-2.0
#include "kernel/pmu/pmu_session.h"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kType = 17;

// An i915 PMU with two engines' busy time, the render engine's wait time and a frequency.
struct I915 {
  TestMachine m;
  CounterMemory memory;
  std::unique_ptr<PmuSession> pmu;
  std::uint64_t pass = 0;

  I915() {
    write("type", "17\n");
    write("cpumask", "0\n");
    write("format/i915_eventid", "config:0-20\n");
    event("rcs0-busy", "config=0x0\n", "ns\n");
    event("rcs0-wait", "config=0x1\n", "ns\n");
    event("vcs0-busy", "config=0x2000\n", "ns\n");
    event("actual-frequency", "config=0x100000\n", "M\n");
    event("interrupts", "config=0x100002\n", nullptr);
    m.perf.add_pmu(kType);
    open_session();
  }
  void write(const std::string& path, const char* text) {
    m.tree.write("sys/bus/event_source/devices/i915/" + path, text);
  }
  void event(const std::string& name, const char* text, const char* unit) {
    write("events/" + name, text);
    if (unit) write("events/" + name + ".unit", unit);
  }
  void open_session() { pmu = std::make_unique<PmuSession>(m.machine(), memory, "i915"); }
  std::uint64_t& counter(std::uint64_t config) { return m.perf.counter(kType, config); }
  Reading<Unit> refresh(Nanoseconds after = 1s) {
    m.clock.advance(after);
    return pmu->refresh(++pass);
  }
};

}  // namespace

TEST_SUITE_BEGIN("pmu session");

TEST_CASE("the events that a PMU lists, without .scale and .unit files") {
  I915 i915;
  i915.write("events/rcs0-busy.scale", "1\n");
  const auto events = i915.pmu->events();
  REQUIRE(events);
  CHECK(*events == std::vector<std::string>{"actual-frequency", "interrupts", "rcs0-busy", "rcs0-wait", "vcs0-busy"});
}

TEST_CASE("a PMU that is not there is absent") {
  TestMachine m;
  CounterMemory memory;
  PmuSession pmu(m.machine(), memory, "i915");
  CHECK(pmu.events().is_absent());
  const auto handle = pmu.want("rcs0-busy");
  const auto outcome = pmu.refresh(1);
  REQUIRE(outcome.is_absent());
  CHECK(outcome.absent() == Absent{Reason::kernel, ENOENT});
  CHECK(pmu.count(handle).absent() == Absent{Reason::kernel, ENOENT});
}

TEST_CASE("a PMU without events has an empty list") {
  TestMachine m;
  m.tree.write("sys/bus/event_source/devices/uncore_imc_0/type", "31\n");
  CounterMemory memory;
  PmuSession pmu(m.machine(), memory, "uncore_imc_0");
  REQUIRE(pmu.events());
  CHECK(pmu.events()->empty());
}

TEST_CASE("all listed events form one group, opened on the CPU of the cpumask and read by one read") {
  I915 i915;
  i915.write("cpumask", "3\n");
  const auto render = i915.pmu->want("rcs0-busy");
  const auto video = i915.pmu->want("vcs0-busy");
  CHECK(i915.pmu->want("rcs0-busy") == render);  // shared
  CHECK(i915.pmu->count(render).is_absent());    // nothing was read yet
  i915.counter(0) = 5'000'000'000;               // before we opened it
  REQUIRE(i915.refresh());
  CHECK(i915.m.perf.opens == 2);
  CHECK(i915.m.perf.cpus == std::vector<int>{3, 3});
  CHECK(*i915.pmu->count(render) == 0);

  i915.counter(0) += 700'000'000;
  i915.counter(0x2000) += 1'000;
  const Nanoseconds before = i915.pmu->time();
  const int reads = i915.m.perf.reads;
  REQUIRE(i915.refresh(2s));
  CHECK(i915.m.perf.reads == reads + 1);
  CHECK(*i915.pmu->count(render) == 700'000'000);
  CHECK(*i915.pmu->count(video) == 1'000);
  CHECK(*i915.pmu->raw(video) == 1'000);
  CHECK(i915.pmu->time() - before == 2s);
}

TEST_CASE("the group is read once per scrape") {
  I915 i915;
  const auto render = i915.pmu->want("rcs0-busy");
  REQUIRE(i915.pmu->refresh(1));
  i915.counter(0) += 10;
  REQUIRE(i915.pmu->refresh(1));
  CHECK(i915.m.perf.reads == 1);
  CHECK(*i915.pmu->count(render) == 0);
  REQUIRE(i915.pmu->refresh(2));
  CHECK(*i915.pmu->count(render) == 10);
  // A scrape that was left behind and comes back late does not read either.
  REQUIRE(i915.pmu->refresh(1));
  CHECK(i915.m.perf.reads == 2);
}

TEST_CASE("scale turns a count into the unit of the PMU") {
  TestMachine m;
  const std::string power = "sys/bus/event_source/devices/power/";
  m.tree.write(power + "type", "9\n");
  m.tree.write(power + "cpumask", "0\n");
  m.tree.write(power + "format/event", "config:0-7\n");
  m.tree.write(power + "events/energy-gpu", "event=0x04\n");
  m.tree.write(power + "events/energy-gpu.scale", "2.3283064365386962890625e-10\n");
  m.tree.write(power + "events/energy-gpu.unit", "Joules\n");
  m.perf.add_pmu(9);
  CounterMemory memory;
  PmuSession pmu(m.machine(), memory, "power");
  const auto gpu = pmu.want("energy-gpu");
  REQUIRE(pmu.refresh(1));
  m.perf.counter(9, 4) += 3ull << 32;
  REQUIRE(pmu.refresh(2));
  CHECK(*pmu.scaled(gpu, 1) == doctest::Approx(3.0));
  CHECK(*pmu.count(gpu) == 3ull << 32);
}

TEST_CASE("a scale that cannot be one counts as none: a count never becomes negative, infinite or zero") {
  for (const char* text : {"-1e-9\n", "0\n", "inf\n", "nan\n", "x\n", "\n"}) {
    CAPTURE(text);
    TestMachine m;
    const std::string power = "sys/bus/event_source/devices/power/";
    m.tree.write(power + "type", "9\n");
    m.tree.write(power + "format/event", "config:0-7\n");
    m.tree.write(power + "events/energy-gpu", "event=0x04\n");
    m.tree.write(power + "events/energy-gpu.scale", text);
    m.perf.add_pmu(9);
    CounterMemory memory;
    PmuSession pmu(m.machine(), memory, "power");
    const auto gpu = pmu.want("energy-gpu");
    REQUIRE(pmu.refresh(1));
    m.perf.counter(9, 4) += 100;
    REQUIRE(pmu.refresh(2));
    CHECK(*pmu.scaled(gpu, 0.5) == 50);
  }
}

TEST_CASE("one PMU for several packages is opened on each CPU of the cpumask and summed") {
  TestMachine m;
  const std::string imc = "sys/bus/event_source/devices/uncore_imc/";
  m.tree.write(imc + "type", "9\n");
  m.tree.write(imc + "cpumask", "0,8\n");
  m.tree.write(imc + "format/event", "config:0-7\n");
  m.tree.write(imc + "events/data_reads", "event=0x01\n");
  m.perf.add_pmu(9);
  CounterMemory memory;
  PmuSession pmu(m.machine(), memory, "uncore_imc");
  const auto reads = pmu.want("data_reads");
  REQUIRE(pmu.refresh(1));
  CHECK(m.perf.cpus == std::vector<int>{0, 8});
  m.perf.counter(9, 1) += 100;
  REQUIRE(pmu.refresh(2));
  CHECK(*pmu.count(reads) == 200);
  CHECK(*pmu.scaled(reads, 0.5) == 100);  // without a .scale: what is usual
}

TEST_CASE("a GPU's PMU counts for the whole machine and is opened on one CPU, whatever its cpumask") {
  I915 i915;
  i915.write("cpumask", "0-3\n");
  (void)i915.pmu->want("rcs0-busy");
  REQUIRE(i915.refresh());
  CHECK(i915.m.perf.cpus == std::vector<int>{0});
}

TEST_CASE("an event that the kernel refuses is left out, the others count") {
  for (const int error : {ENOENT, ENODEV, EINVAL, EOPNOTSUPP}) {
    I915 i915;
    i915.m.perf.refuse(kType, 0, error);
    const auto render = i915.pmu->want("rcs0-busy");  // it would have been the leader
    const auto video = i915.pmu->want("vcs0-busy");
    const auto unknown = i915.pmu->want("vecs7-busy");
    REQUIRE(i915.refresh());
    i915.counter(0x2000) += 5;
    REQUIRE(i915.refresh());
    CHECK(*i915.pmu->count(video) == 5);
    REQUIRE(i915.pmu->count(render).is_absent());
    CHECK(i915.pmu->count(render).absent() == Absent{Reason::kernel, error});
    CHECK(i915.pmu->count(unknown).absent() == Absent{Reason::kernel, ENOENT});
  }
}

TEST_CASE("a PMU that refuses every event is absent with the reason") {
  I915 i915;
  i915.m.perf.refuse(kType, 0, ENODEV);
  (void)i915.pmu->want("rcs0-busy");
  const auto outcome = i915.refresh();
  REQUIRE(outcome.is_absent());
  CHECK(outcome.absent() == Absent{Reason::kernel, ENODEV});
}

TEST_CASE("without permission the PMU is absent after one call; permission granted later is used") {
  for (const int error : {EACCES, EPERM}) {
    I915 i915;
    i915.m.perf.refuse_all(error);
    const auto render = i915.pmu->want("rcs0-busy");
    (void)i915.pmu->want("vcs0-busy");
    const auto outcome = i915.refresh();
    REQUIRE(outcome.is_absent());
    CHECK(outcome.absent() == Absent{Reason::permission, error});
    CHECK(i915.pmu->count(render).absent() == Absent{Reason::permission, error});
    CHECK(i915.m.perf.open_now == 0);
    i915.m.perf.refuse_all(0);
    REQUIRE(i915.refresh());
    CHECK(*i915.pmu->count(render) == 0);
  }
}

TEST_CASE("permission lost while a group is opened leaves nothing open") {
  I915 i915;
  i915.m.perf.refuse(kType, 0x2000, EACCES);
  (void)i915.pmu->want("rcs0-busy");
  (void)i915.pmu->want("vcs0-busy");
  CHECK(i915.refresh().is_absent());
  CHECK(i915.m.perf.open_now == 0);
  CHECK_FALSE(i915.pmu->is_open());
}

TEST_CASE("too many open files is a failure, not an absence") {
  I915 i915;
  i915.m.perf.refuse(kType, 0x2000, EMFILE);
  (void)i915.pmu->want("rcs0-busy");
  (void)i915.pmu->want("vcs0-busy");
  CHECK(i915.refresh().is_failure());
  CHECK(i915.m.perf.open_now == 0);
}

TEST_CASE("one failed read keeps the group and its counts") {
  I915 i915;
  const auto render = i915.pmu->want("rcs0-busy");
  REQUIRE(i915.refresh());
  i915.counter(0) += 10;
  REQUIRE(i915.refresh());
  i915.m.perf.fail_reads(EIO);
  i915.counter(0) += 10;
  CHECK(i915.refresh().is_failure());
  CHECK(i915.pmu->count(render).is_failure());  // the last value is not reported again
  i915.m.perf.fail_reads(0);
  REQUIRE(i915.refresh());
  CHECK(*i915.pmu->count(render) == 20);
  CHECK(i915.m.perf.opens == 1);
}

TEST_CASE("a group without its leader is closed and reopened; counts continue") {
  I915 i915;
  const auto render = i915.pmu->want("rcs0-busy");
  const auto video = i915.pmu->want("vcs0-busy");
  REQUIRE(i915.refresh());
  i915.counter(0) += 10;
  i915.counter(0x2000) += 7;
  REQUIRE(i915.refresh());
  const auto generation = i915.pmu->generation();
  i915.m.perf.dissolve();
  CHECK(i915.refresh().is_failure());
  CHECK(i915.m.perf.open_now == 0);
  i915.counter(0) += 1'000;  // not observed
  REQUIRE(i915.refresh());
  CHECK(i915.pmu->generation() == generation + 1);
  i915.counter(0) += 3;
  REQUIRE(i915.refresh());
  CHECK(*i915.pmu->count(render) == 13);
  CHECK(*i915.pmu->count(video) == 7);
  CHECK(*i915.pmu->raw(render) == 3);
}

TEST_CASE("an answer that is too short, or empty, closes the group") {
  for (const std::size_t words : {std::size_t{1}, std::size_t{3}}) {
    I915 i915;
    (void)i915.pmu->want("rcs0-busy");
    REQUIRE(i915.refresh());
    i915.m.perf.cut_reads(words);
    CHECK_FALSE(i915.refresh());
    CHECK(i915.m.perf.open_now == 0);
    i915.m.perf.cut_reads(0);
    CHECK(i915.refresh());
  }
}

TEST_CASE("a PMU with another type number is a new PMU: the old group is closed, counts continue") {
  I915 i915;
  const auto render = i915.pmu->want("rcs0-busy");
  REQUIRE(i915.refresh());
  i915.counter(0) += 10;
  REQUIRE(i915.refresh());
  i915.write("type", "23\n");
  i915.m.perf.add_pmu(23);
  REQUIRE(i915.refresh());
  i915.m.perf.counter(23, 0) += 4;
  REQUIRE(i915.refresh());
  CHECK(*i915.pmu->count(render) == 14);
  CHECK(i915.m.perf.open_events == std::multiset<std::pair<std::uint32_t, std::uint64_t>>{{23, 0}});
}

TEST_CASE("a PMU that disappeared is closed, and absent") {
  I915 i915;
  (void)i915.pmu->want("rcs0-busy");
  REQUIRE(i915.refresh());
  i915.write("type", "");  // the file that we hold open is that of a PMU that is no more
  i915.m.tree.remove("sys/bus/event_source/devices/i915");
  const auto outcome = i915.refresh();
  REQUIRE(outcome.is_absent());
  CHECK(outcome.absent().reason == Reason::kernel);
  CHECK(i915.m.perf.open_now == 0);
}

TEST_CASE("a new session with the same memory, as after a rebind, continues its counts") {
  I915 i915;
  (void)i915.pmu->want("rcs0-busy");
  REQUIRE(i915.refresh());
  i915.counter(0) += 10;
  REQUIRE(i915.refresh());
  i915.open_session();
  const auto render = i915.pmu->want("rcs0-busy");
  REQUIRE(i915.refresh());
  CHECK(*i915.pmu->count(render) == 10);
  CHECK(*i915.pmu->raw(render) == 0);
}

TEST_CASE("a GPU's counters go on when its PMU has another name after a re-binding") {
  I915 i915;
  (void)i915.pmu->want("rcs0-busy");
  REQUIRE(i915.refresh());
  i915.counter(0) += 10;
  REQUIRE(i915.refresh());
  i915.m.tree.move("sys/bus/event_source/devices/i915", "sys/bus/event_source/devices/i915_0000_00_02.0");
  i915.pmu = std::make_unique<PmuSession>(i915.m.machine(), i915.memory, "i915_0000_00_02.0");
  const auto render = i915.pmu->want("rcs0-busy");
  REQUIRE(i915.refresh());
  CHECK(*i915.pmu->count(render) == 10);
}

TEST_CASE("busy time that the firmware corrects downwards is held at its last value") {
  I915 i915;
  const auto render = i915.pmu->want("rcs0-busy");
  REQUIRE(i915.refresh());
  i915.counter(0) += 500'000'000;
  REQUIRE(i915.refresh());
  i915.counter(0) -= 20'000'000;
  REQUIRE(i915.refresh());
  CHECK(*i915.pmu->count(render) == 500'000'000);
  CHECK(*i915.pmu->raw(render) == 480'000'000);  // a window sees the step
  i915.counter(0) += 100'000'000;
  REQUIRE(i915.refresh());
  CHECK(*i915.pmu->count(render) == 580'000'000);
}

TEST_CASE("a counter reset far below its opening value continues from its last value") {
  I915 i915;
  const auto render = i915.pmu->want("rcs0-busy");
  i915.counter(0) = 100'000'000'000;
  REQUIRE(i915.refresh());
  i915.counter(0) += 5'000'000'000;
  REQUIRE(i915.refresh());
  i915.counter(0) = 0;
  REQUIRE(i915.refresh());
  CHECK(*i915.pmu->count(render) == 5'000'000'000);
  CHECK(*i915.pmu->raw(render) == 0);
  i915.counter(0) += 1'000;
  REQUIRE(i915.refresh());
  CHECK(*i915.pmu->count(render) == 5'000'001'000);
  CHECK(*i915.pmu->raw(render) == 1'000);
}

TEST_CASE("a closed session keeps its last counts, and reopens when refreshed") {
  I915 i915;
  const auto render = i915.pmu->want("rcs0-busy");
  REQUIRE(i915.refresh());
  i915.counter(0) += 10;
  REQUIRE(i915.refresh());
  const Nanoseconds time = i915.pmu->time();
  i915.pmu->close();
  CHECK_FALSE(i915.pmu->is_open());
  CHECK(i915.m.perf.open_now == 0);
  CHECK(*i915.pmu->count(render) == 10);
  i915.m.clock.advance(1h);
  REQUIRE(i915.pmu->refresh(i915.pass));  // even within the same pass
  CHECK(i915.pmu->is_open());
  CHECK(i915.pmu->time() == time);  // nothing was measured meanwhile
}

TEST_CASE("an event listed later is added at the next refresh") {
  I915 i915;
  const auto render = i915.pmu->want("rcs0-busy");
  REQUIRE(i915.refresh());
  i915.counter(0) += 10;
  REQUIRE(i915.refresh());
  const auto video = i915.pmu->want("vcs0-busy");
  REQUIRE(i915.refresh());
  i915.counter(0x2000) += 2;
  REQUIRE(i915.refresh());
  CHECK(*i915.pmu->count(render) == 10);
  CHECK(*i915.pmu->count(video) == 2);
  CHECK(i915.m.perf.open_now == 2);
}

namespace {

// Perf events whose time the test sets, and whose read can be made to hang.
class ScriptedPerf final : public PerfEvents {
 public:
  std::uint64_t enabled = 0, running = 0, value = 0;
  std::atomic<bool> hang{false}, hanging{false};

  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig&, int, PerfEvent*) override {
    return std::unique_ptr<PerfEvent>(std::make_unique<Event>(*this));
  }

 private:
  struct Event final : PerfEvent {
    explicit Event(ScriptedPerf& perf) : perf_(perf) {}
    Reading<std::span<const std::uint64_t>> read(std::span<std::uint64_t> words) override {
      while (perf_.hang) {
        perf_.hanging = true;
        std::this_thread::yield();
      }
      words[0] = 1;
      words[1] = perf_.enabled;
      words[2] = perf_.running;
      words[3] = perf_.value;
      return std::span<const std::uint64_t>(words.first(4));
    }
    ScriptedPerf& perf_;
  };
};

struct Scripted {
  I915 i915;
  ScriptedPerf perf;
  Machine machine{i915.m.machine().sys, i915.m.machine().proc, i915.m.machine().dev, perf,
                  i915.m.drm,           i915.m.clock,          i915.m.privileges,    i915.m.names};
  CounterMemory memory;
  PmuSession pmu{machine, memory, "i915"};
  PmuSession::Handle render = pmu.want("rcs0-busy");
};

}  // namespace

TEST_CASE("a multiplexed group is extrapolated") {
  Scripted s;
  s.perf.enabled = s.perf.running = 1'000;
  REQUIRE(s.pmu.refresh(1));
  s.perf.enabled += 1'000;
  s.perf.running += 500;
  s.perf.value += 70;
  REQUIRE(s.pmu.refresh(2));
  CHECK(*s.pmu.count(s.render) == 140);
  CHECK(s.pmu.time() == Nanoseconds(2'000));
}

TEST_CASE("a group that is open but does not run is a failure, and its time is not counted") {
  Scripted s;
  s.perf.enabled = 1'000;
  CHECK(s.pmu.refresh(1).is_failure());
  CHECK(s.pmu.count(s.render).is_failure());
  s.perf.enabled = 2'000;
  s.perf.running = 1'000;
  s.perf.value = 300;
  REQUIRE(s.pmu.refresh(2));
  CHECK(*s.pmu.count(s.render) == 300);
  CHECK(s.pmu.time() == Nanoseconds(1'000));
}

TEST_CASE("while a read hangs other readers fail at once, and no count is lost") {
  Scripted s;
  REQUIRE(s.pmu.refresh(1));
  s.perf.hang = true;
  std::thread hung([&] { CHECK(s.pmu.refresh(2)); });
  while (!s.perf.hanging) std::this_thread::yield();
  CHECK(s.pmu.refresh(3).is_failure());
  CHECK(s.pmu.count(s.render).is_failure());
  s.perf.value = 9;
  s.perf.hang = false;
  hung.join();
  s.perf.enabled = s.perf.running = 1'000;
  REQUIRE(s.pmu.refresh(4));
  CHECK(*s.pmu.count(s.render) == 9);
}

TEST_CASE("the PMU of a GPU is named after its address, but for integrated i915 GPUs and old kernels") {
  MachineTree tree;
  const auto pmu = [&](const char* name) {
    tree.write(std::string("sys/bus/event_source/devices/") + name + "/type", "17\n");
  };
  tree.make_directory("sys/bus/event_source/devices");
  const auto name = [&](const char* driver, const char* address, bool integrated) {
    return gpu_pmu_name(*open_root(tree.path("sys")), driver, address, integrated);
  };
  // Nothing is there yet: what it will be called.
  CHECK(name("i915", "0000:00:02.0", true) == "i915");
  CHECK(name("i915", "0000:03:00.0", false) == "i915_0000_03_00.0");
  CHECK(name("xe", "0000:00:02.0", true) == "xe_0000_00_02.0");

  SUBCASE("a card beside an integrated GPU does not take the other one's") {
    pmu("i915");
    tree.link("sys/bus/pci/drivers/i915/0000:00:02.0", "../../../../devices/pci0000:00/0000:00:02.0");
    tree.link("sys/bus/pci/drivers/i915/0000:03:00.0", "../../../../devices/pci0000:00/0000:03:00.0");
    CHECK(name("i915", "0000:03:00.0", false) == "i915_0000_03_00.0");
    pmu("i915_0000_03_00.0");
    CHECK(name("i915", "0000:03:00.0", false) == "i915_0000_03_00.0");
    CHECK(name("i915", "0000:00:02.0", true) == "i915");
  }
  SUBCASE("before 5.10 the only GPU has the plain name wherever it is") {
    pmu("i915");
    tree.link("sys/bus/pci/drivers/i915/0000:03:00.0", "../../../../devices/pci0000:00/0000:03:00.0");
    tree.write("sys/bus/pci/drivers/i915/bind", "");
    CHECK(name("i915", "0000:03:00.0", false) == "i915");
  }
  SUBCASE("a card that is being removed does not take the integrated GPU's") {
    pmu("i915");
    tree.link("sys/bus/pci/drivers/i915/0000:00:02.0", "../../../../devices/pci0000:00/0000:00:02.0");
    CHECK(name("i915", "0000:03:00.0", false) == "i915_0000_03_00.0");
  }
  SUBCASE("up to 6.12 an integrated GPU at an unusual address is named by it") {
    pmu("i915_0000_00_10.0");
    CHECK(name("i915", "0000:00:10.0", true) == "i915_0000_00_10.0");
  }
  SUBCASE("up to 6.12 a card that was handed through to 0000:00:02.0 has the plain name") {
    pmu("i915");
    CHECK(name("i915", "0000:00:02.0", false) == "i915");
  }
}
