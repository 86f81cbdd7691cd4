// SPDX-License-Identifier: Apache-2.0
// The sampler with a clock and counters that the test moves: what happens between two scrapes shows in the next one.
#include "collector/sampling/sampler.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "collector/samples/samples.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::sampling;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* kAddress = "0000:00:02.0";

struct FakeAccess final : GpuAccess {
  PowerStatus power_status() override { return {suspended, users}; }
  bool pmu_is_open() const override { return open; }
  Absent pmu_closed_because() const override { return closed_because; }
  bool gone() const override { return removed; }
  bool suspended = false;
  Reading<std::uint64_t> users = Absent{};  // as on most kernels
  Absent closed_because{Reason::suspended};
  bool open = true;
  bool removed = false;
};

Gpu gpu_of(Driver driver) {
  Gpu gpu;
  gpu.address = kAddress;
  gpu.pci_path = "devices/pci0000:00/0000:00:02.0";
  gpu.card = "card0";
  gpu.render_node = "renderD128";
  gpu.driver = driver;
  gpu.kind = GpuKind::discrete;
  return gpu;
}

// How busy the video engine is at a time since the beginning, 0..1.
using Script = std::function<double(Nanoseconds)>;

// A GPU with one video engine, sampled every 100 ms.
class SampledMachine {
 public:
  explicit SampledMachine(Driver driver = Driver::i915, SamplerOptions options = {})
      : driver_(driver), options_(options), sampler(m.machine(), options) {
    const std::string pmus = "sys/bus/event_source/devices/";
    const std::string pmu = pmus + (driver == Driver::i915 ? "i915/" : "xe_0000_00_02.0/");
    m.tree.write(pmu + "type", "17\n");
    m.tree.write(pmu + "cpumask", "0\n");
    if (driver == Driver::i915) {
      m.tree.write(pmu + "format/i915_eventid", "config:0-20\n");
      m.tree.write(pmu + "events/vcs0-busy", "config=0x2000\n");
      m.tree.write(pmu + "events/vcs0-busy.unit", "ns\n");
    } else {
      m.tree.write(pmu + "format/event", "config:0-11\n");
      m.tree.write(pmu + "format/engine_class", "config:20-27\n");
      m.tree.write(pmu + "format/engine_instance", "config:12-19\n");
      m.tree.write(pmu + "format/gt", "config:60-63\n");
      m.tree.write(pmu + "events/engine-active-ticks", "event=0x02\n");
      m.tree.write(pmu + "events/engine-total-ticks", "event=0x03\n");
      for (std::uint64_t engine_class = 0; engine_class < 5; ++engine_class)
        for (std::uint64_t instance = 0; instance < 16; ++instance)
          if (engine_class != 2 || instance != 0) m.perf.refuse(17, xe_event(engine_class, instance, 2), EINVAL);
    }
    const std::string card = "sys/devices/pci0000:00/0000:00:02.0/drm/card0/gt/gt0/";
    m.tree.write(card + "rps_act_freq_mhz", "1300\n");
    m.tree.write(card + "throttle_reason_status", "0\n");
    m.tree.write(card + "throttle_reason_thermal", "0\n");
    m.tree.write("sys/devices/pci0000:00/0000:00:02.0/hwmon/hwmon2/name", "i915\n");
    m.tree.write("sys/devices/pci0000:00/0000:00:02.0/hwmon/hwmon2/energy1_input", "1000000\n");
    m.perf.add_pmu(17);
    follow();
  }
  void follow() {
    access = std::make_shared<FakeAccess>();
    sampler.follow({{gpu_of(driver_), access}});
  }
  void write(const std::string& file, const std::string& text) {
    m.tree.write("sys/devices/pci0000:00/0000:00:02.0/" + file, text);
  }

  // Lets time pass in steps of a millisecond, and ticks.
  void run(Nanoseconds length, const Script& busy) {
    for (Nanoseconds end = elapsed + length; elapsed < end;) {
      work(busy(elapsed));
      if (elapsed % options_.interval == 0ns) sampler.tick(1);
    }
  }
  void work(double busy) {
    constexpr double kTicksPerMillisecond = 19200;
    elapsed += 1ms;
    m.clock.advance(1ms);
    busy_seconds += busy / 1000;
    if (driver_ == Driver::i915) {
      m.perf.counter(17, 0x2000) = static_cast<std::uint64_t>(std::llround(busy_seconds * 1e9));
    } else {
      m.perf.counter(17, xe_event(2, 0, 2)) =
          static_cast<std::uint64_t>(std::llround(busy_seconds * 1000 * kTicksPerMillisecond));
      m.perf.counter(17, xe_event(2, 0, 3)) += static_cast<std::uint64_t>(kTicksPerMillisecond);
    }
  }

  // Of the video engine, in this client's window.
  std::optional<Extremes> busy(const char* client) {
    std::optional<Extremes> found;
    sampler.take_window(client, [&](const Sampler::WindowView& window) {
      if (!window.engines.empty() && is_value(window.engines[0].most)) found = window.engines[0];
      if (!window.domains.empty()) watts = window.domains[0];
      if (!window.gts.empty()) hertz = window.gts[0];
    });
    return found;
  }
  EngineStatistics statistics() {
    std::optional<EngineStatistics> found;
    sampler.for_each_gpu([&](const Sampler::GpuView& gpu) {
      if (!gpu.engines.empty()) found = *gpu.engines[0];
    });
    return found.value_or(EngineStatistics());
  }
  double throttled(std::string_view reason) {
    double seconds = -1;
    sampler.for_each_gpu([&](const Sampler::GpuView& gpu) {
      for (std::size_t i = 0; i < gpu.layout.reasons.size(); ++i)
        if (gpu.layout.reasons[i] == reason) seconds = *gpu.throttled[0][i];
    });
    return seconds;
  }

  static std::uint64_t xe_event(std::uint64_t engine_class, std::uint64_t instance, std::uint64_t event) {
    return engine_class << 20 | instance << 12 | event;
  }

 private:
  const Driver driver_;
  const SamplerOptions options_;

 public:
  TestMachine m;
  std::shared_ptr<FakeAccess> access;
  Sampler sampler;
  Nanoseconds elapsed{};
  double busy_seconds = 0;
  Extremes watts, hertz;  // of the last window
};

template <std::size_t B>
std::uint64_t count_of(const Histogram<B>& histogram) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : histogram.counts) sum += count;
  return sum;
}

bool within(Nanoseconds time, Nanoseconds begin, Nanoseconds length) { return time >= begin && time < begin + length; }

constexpr double kSample = 0.1;  // seconds

}  // namespace

TEST_SUITE_BEGIN("sampler_logic");

TEST_CASE("a stall of 200 ms and a burst of 300 ms show in the scrape after them, within one sample") {
  for (const Driver driver : {Driver::i915, Driver::xe}) {
    INFO(to_string(driver));
    SampledMachine machine(driver);
    const Script script = [](Nanoseconds now) {
      if (within(now, 20'030ms, 200ms)) return 0.0;
      return within(now, 25'050ms, 300ms) ? 1.0 : 0.6;
    };
    machine.run(15s, script);
    const auto before = machine.busy("prometheus");
    machine.run(15s, script);
    const auto with_both = machine.busy("prometheus");
    machine.run(15s, script);
    const auto after = machine.busy("prometheus");

    REQUIRE(before);
    CHECK(before->most == doctest::Approx(0.6).epsilon(0.001));
    CHECK(before->least == doctest::Approx(0.6).epsilon(0.001));
    REQUIRE(with_both);
    CHECK(with_both->most == doctest::Approx(1.0));
    CHECK(with_both->least == doctest::Approx(0.0));
    REQUIRE(after);
    CHECK(after->most == doctest::Approx(0.6).epsilon(0.001));
    CHECK(after->least == doctest::Approx(0.6).epsilon(0.001));

    const EngineStatistics all = machine.statistics();
    CHECK(count_of(all.gaps()) == 1);
    CHECK(std::abs(all.gaps().sum - 0.2) <= kSample + 1e-9);
    CHECK(std::abs(all.saturated().value - 0.3) <= kSample + 1e-9);
    CHECK(count_of(all.utilization()) == 449);     // the first tick has nothing to compare with
    CHECK(all.utilization().counts.back() == 2);   // above 0.99
    CHECK(all.utilization().counts.front() == 1);  // up to 0.01
  }
}

TEST_CASE("scrapers at 5 s and at 15 s each see an event once") {
  SampledMachine machine;
  const Script script = [](Nanoseconds now) { return within(now, 17s, 300ms) ? 1.0 : 0.2; };
  int fast = 0;
  int slow = 0;
  for (int scrape = 1; scrape <= 9; ++scrape) {
    machine.run(5s, script);
    fast += machine.busy("5 s")->most > 0.9F;
    if (scrape % 3 == 0) slow += machine.busy("15 s")->most > 0.9F;
  }
  CHECK(fast == 1);
  CHECK(slow == 1);
}

TEST_CASE("a client that is not known gets the last minutes, at most five") {
  SampledMachine machine;
  machine.run(10min, [](Nanoseconds now) { return within(now, 1min, 1s) ? 1.0 : within(now, 8min, 1s) ? 0.9 : 0.3; });
  CHECK(machine.busy("new")->most == doctest::Approx(0.9));
  machine.run(1s, [](Nanoseconds) { return 0.3; });
  CHECK(machine.busy("new")->most == doctest::Approx(0.3));
  // After so long its own window is of no use.
  machine.run(6min, [](Nanoseconds) { return 0.4; });
  CHECK(machine.busy("new")->most == doctest::Approx(0.4));
}

TEST_CASE("many clients use bounded memory and keep the windows of the others as long as there is room") {
  ClientWindows windows;
  windows.add_series(1);
  windows.begin_tick(1h);
  windows.add(0, 1);
  (void)windows.take_window("prometheus", 1h);
  for (std::size_t i = 0; i + 1 < ClientWindows::kMostClients; ++i)
    (void)windows.take_window("client " + std::to_string(i), 1h + 1s);
  CHECK_FALSE(is_value(windows.take_window("prometheus", 1h + 2s)[0].most));
  (void)windows.take_window("one more", 1h + 3s);  // the longest silent one is forgotten
  CHECK_FALSE(is_value(windows.take_window("prometheus", 1h + 4s)[0].most));
  CHECK(windows.take_window("client 0", 1h + 5s)[0].most == doctest::Approx(1));
}

TEST_CASE("a client that invents names takes the places of its own address only") {
  ClientWindows windows;
  windows.add_series(1);
  windows.begin_tick(1h);
  (void)windows.take_window("a\nprometheus", 1h);
  for (int i = 0; i < 100; ++i) (void)windows.take_window("b\n" + std::to_string(i), 1h + 1s);
  windows.begin_tick(1h + 2s);
  windows.add(0, 1);
  windows.begin_tick(1h + 2min);
  windows.add(0, 0.5F);
  CHECK(windows.take_window("a\nprometheus", 1h + 2min)[0].least == doctest::Approx(0.5));
  windows.begin_tick(1h + 3min);
  windows.add(0, 0.25F);
  CHECK(windows.take_window("a\nprometheus", 1h + 3min)[0].most == doctest::Approx(0.25));  // it was remembered
}

TEST_CASE("a client that scrapes every five minutes, sometimes a little late, sees each event once") {
  SampledMachine machine;
  int seen = 0;
  for (int scrape = 0; scrape < 4; ++scrape) {
    machine.run(5min + (scrape % 2) * 100ms, [](Nanoseconds now) { return within(now, 7min, 1s) ? 1.0 : 0.2; });
    seen += machine.busy("slow")->most > 0.9F;
  }
  CHECK(seen == 1);
}

TEST_CASE("histogram, mean and counter agree over ten minutes") {
  for (const Driver driver : {Driver::i915, Driver::xe}) {
    INFO(to_string(driver));
    SampledMachine machine(driver);
    std::minstd_rand random(7);
    double level = 0;
    Nanoseconds until{};
    machine.run(10min, [&](Nanoseconds now) {
      if (now >= until) {
        until = now + std::chrono::milliseconds(20 + random() % 800);
        level = static_cast<double>(random() % 101) / 100;
      }
      return level;
    });
    const auto all = machine.statistics().utilization();
    const double mean = machine.busy_seconds / 600;
    CHECK(all.sum / static_cast<double>(count_of(all)) == doctest::Approx(mean).epsilon(0.01));
    CHECK(all.sum * kSample == doctest::Approx(machine.busy_seconds).epsilon(0.01));
  }
}

TEST_CASE("late ticks are counted, and one sample covers their time") {
  SampledMachine machine;
  machine.run(1s, [](Nanoseconds) { return 0.5; });
  (void)machine.busy("a");
  for (int i = 0; i < 400; ++i) machine.work(1);
  machine.sampler.tick(4);
  CHECK(machine.sampler.missed() == 3);
  CHECK(machine.busy("a")->least == doctest::Approx(1));
  CHECK(machine.statistics().saturated().value == doctest::Approx(0.4));
  CHECK(count_of(machine.statistics().utilization()) == 10);
}

TEST_CASE("a sleeping GPU is not read, and its sleep is in no sample") {
  SampledMachine machine;
  machine.run(1s, [](Nanoseconds) { return 0.5; });
  machine.access->suspended = true;
  const int reads = machine.m.perf.reads;
  machine.write("drm/card0/gt/gt0/rps_act_freq_mhz", "100\n");
  (void)machine.busy("a");
  machine.run(5s, [](Nanoseconds) { return 0.0; });
  CHECK(machine.m.perf.reads == reads);
  CHECK_FALSE(machine.busy("a"));
  CHECK_FALSE(is_value(machine.hertz.least));
  machine.access->suspended = false;
  machine.run(1s, [](Nanoseconds) { return 0.5; });
  CHECK(machine.busy("a")->least == doctest::Approx(0.5));
  CHECK(count_of(machine.statistics().gaps()) == 0);
}

TEST_CASE("a GPU that sleeps from the beginning is not even opened") {
  for (const Driver driver : {Driver::i915, Driver::xe}) {
    SampledMachine machine(driver);
    machine.access->suspended = true;
    machine.run(20s, [](Nanoseconds) { return 0.0; });
    CHECK(machine.m.perf.opens == 0);
  }
}

TEST_CASE("xe: the PMU is open only while the collectors have it open") {
  SampledMachine machine(Driver::xe);
  machine.access->open = false;
  machine.run(20s, [](Nanoseconds) { return 0.5; });
  CHECK(machine.m.perf.opens == 0);
  CHECK_FALSE(machine.busy("a"));
  machine.access->open = true;
  machine.run(2s, [](Nanoseconds) { return 0.5; });
  CHECK(machine.m.perf.open_now == 2);
  CHECK(machine.busy("a")->most == doctest::Approx(0.5));
  machine.access->open = false;
  machine.run(100ms, [](Nanoseconds) { return 0.5; });
  CHECK(machine.m.perf.open_now == 0);
  machine.access->open = true;
  machine.run(2s, [](Nanoseconds now) { return now < 23s ? 0.0 : 0.25; });
  CHECK(machine.busy("a")->most == doctest::Approx(0.25));  // not the time while it was closed
}

TEST_CASE("xe: an engine works for the virtual functions, too; their number may change") {
  SampledMachine machine(Driver::xe);
  machine.m.tree.write("sys/bus/event_source/devices/xe_0000_00_02.0/format/function", "config:44-59\n");
  machine.write("sriov_numvfs", "1\n");
  const std::uint64_t of_function = SampledMachine::xe_event(2, 0, 2) | std::uint64_t{1} << 44;
  const auto both_work = [&](Nanoseconds) {
    machine.m.perf.counter(17, of_function) += 19200 * 3 / 10;
    return 0.5;
  };
  machine.run(2s, both_work);
  CHECK(machine.busy("a")->most == doctest::Approx(0.8));
  CHECK(machine.m.perf.open_now == 3);
  machine.write("sriov_numvfs", "0\n");
  machine.m.perf.counter(17, of_function) += 1'000'000'000'000;  // the driver moved its counts
  machine.run(2s, [](Nanoseconds) { return 0.5; });
  CHECK(machine.busy("a")->most == doctest::Approx(0.5));
  CHECK(machine.m.perf.open_now == 2);
}

// xe_guc_engine_activity.c: the work in progress is an estimate, which each function's own report replaces.
TEST_CASE("xe: a virtual function whose ticks step back makes no sample of less work") {
  SampledMachine machine(Driver::xe);
  machine.m.tree.write("sys/bus/event_source/devices/xe_0000_00_02.0/format/function", "config:44-59\n");
  machine.write("sriov_numvfs", "1\n");
  std::uint64_t& of_function = machine.m.perf.counter(17, SampledMachine::xe_event(2, 0, 2) | std::uint64_t{1} << 44);
  const auto both_work = [&](Nanoseconds) {
    of_function += 19200 * 3 / 10;
    return 0.5;
  };
  machine.run(2s, both_work);
  of_function -= 40 * 19200;  // more than it gains in a sample
  machine.run(1s, both_work);
  const auto busy = machine.busy("a");
  REQUIRE(busy);
  CHECK(busy->least == doctest::Approx(0.8));
  CHECK(busy->most == doctest::Approx(0.8));
}

TEST_CASE("a GPU that goes is closed at the next tick; when it comes back its counts continue") {
  SampledMachine machine;
  machine.write("drm/card0/gt/gt0/throttle_reason_status", "1\n");
  machine.write("drm/card0/gt/gt0/throttle_reason_thermal", "1\n");
  machine.run(10s, [](Nanoseconds) { return 1.0; });
  const double saturated = machine.statistics().saturated().value;
  CHECK(saturated == doctest::Approx(9.9));
  const double throttled = machine.throttled("thermal");
  CHECK(throttled == doctest::Approx(9.9));
  machine.access->removed = true;
  machine.run(100ms, [](Nanoseconds) { return 0.0; });
  CHECK(machine.m.perf.open_now == 0);
  CHECK_FALSE(machine.busy("a"));
  machine.follow();
  machine.run(1100ms, [](Nanoseconds) { return 1.0; });
  CHECK(machine.statistics().saturated().value == doctest::Approx(saturated + 1));
  CHECK(machine.throttled("thermal") == doctest::Approx(throttled + 1));
}

TEST_CASE("a GPU that was rebound is opened again although something still holds the old binding") {
  SampledMachine machine;
  machine.run(1s, [](Nanoseconds) { return 1.0; });
  const int opens = machine.m.perf.opens;
  Gpu rebound = gpu_of(Driver::i915);
  rebound.binding = 1;
  machine.sampler.follow({{rebound, machine.access}});
  machine.run(1s, [](Nanoseconds) { return 1.0; });
  CHECK(machine.m.perf.opens > opens);
  CHECK(machine.m.perf.open_now == 1);
}

namespace {

// The kernel refuses all of them.
struct RefusedEvents final : PerfEvents {
  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig&, int, PerfEvent*) override {
    ++asked;
    return Absent{Reason::permission, EACCES};
  }
  int asked = 0;
};

}  // namespace

TEST_CASE("RAPL that is refused is asked for every ten seconds") {
  TestMachine m;
  const std::string power = "sys/bus/event_source/devices/power/";
  m.tree.write(power + "type", "23\n");
  m.tree.write(power + "format/event", "config:0-7\n");
  m.tree.write(power + "events/energy-pkg", "event=0x02\n");
  RefusedEvents perf;
  const Machine& parts = m.machine();
  Machine machine{parts.sys, parts.proc, parts.dev, perf, parts.drm, parts.clock, parts.privileges, parts.names};
  Sampler sampler(machine, {});
  Gpu gpu = gpu_of(Driver::i915);
  gpu.kind = GpuKind::integrated;
  sampler.follow({{gpu, std::make_shared<FakeAccess>()}});
  for (int i = 0; i < 300; ++i) {  // half a minute
    m.clock.advance(100ms);
    sampler.tick(1);
  }
  CHECK(perf.asked >= 3);
  CHECK(perf.asked <= 5);
}

namespace {

// A scrape that gives the collector its GPUs.
struct SamplesPass final : MachinePass {
  explicit SamplesPass(std::vector<AccessibleGpu> gpus) : accessible(std::move(gpus)) {}
  Nanoseconds now() const override { return {}; }
  Reading<const ClientSnapshot*> clients() override { return Absent{}; }
  std::shared_ptr<const std::vector<Gpu>> gpus() const override { return nullptr; }
  std::span<const std::string> asleep() const override { return {}; }
  FactBoard& facts() override { return board; }
  std::vector<AccessibleGpu> accessible_gpus() const override { return accessible; }
  std::vector<AccessibleGpu> accessible;
  FactBoard::Waiting waiting;
  FactBoard board{waiting};
};

}  // namespace

TEST_CASE("xe: feature samples is available only while engines are sampled") {
  SampledMachine machine(Driver::xe);
  SamplesCollector collector(machine.m.machine(), {});
  SamplesPass pass({{gpu_of(Driver::xe), machine.access}});
  const auto scrape = [&] {
    SampleSink sink;
    collector.collect(pass, sink);
    for (int i = 0; i < 20; ++i) {
      for (int step = 0; step < 100; ++step) machine.work(0.5);
      collector.sampler().tick(1);
    }
    sink.clear();
    collector.collect(pass, sink);
    REQUIRE(sink.features().size() == 1);
    return sink.features()[0].available ? std::nullopt : std::optional(sink.features()[0].absent.reason);
  };
  machine.access->open = false;
  machine.access->closed_because = {Reason::disabled};
  CHECK(scrape() == Reason::disabled);
  machine.access->closed_because = {Reason::permission, EACCES};
  CHECK(scrape() == Reason::permission);
  machine.access->open = true;
  CHECK(scrape() == std::nullopt);
  machine.access->open = false;
  machine.access->closed_because = {Reason::suspended};
  CHECK(scrape() == Reason::suspended);
  machine.access->suspended = true;
  CHECK(scrape() == Reason::suspended);
}

TEST_CASE("without permission there is nothing but the reason, and it is asked for seldom") {
  SampledMachine machine;
  machine.m.perf.refuse_all(EACCES);
  machine.run(9s, [](Nanoseconds) { return 0.5; });
  CHECK_FALSE(machine.busy("a"));
  bool denied = false;
  machine.sampler.for_each_gpu([&](const Sampler::GpuView& gpu) {
    denied = gpu.engines_outcome && gpu.engines_outcome->is_absent() &&
             gpu.engines_outcome->absent().reason == Reason::permission;
    for (const EngineStatistics* engine : gpu.engines) CHECK_FALSE(engine->observed());
  });
  CHECK(denied);
  machine.m.perf.refuse_all(0);
  machine.run(9s, [](Nanoseconds) { return 0.5; });
  CHECK(machine.busy("a"));
}

TEST_CASE("power, clock and throttling between two scrapes") {
  SampledMachine machine;
  machine.run(1s, [](Nanoseconds) { return 0.5; });
  (void)machine.busy("a");
  std::uint64_t microjoules = 1'000'000;
  for (int i = 0; i < 100; ++i) {
    const bool peak = i >= 40 && i < 45;  // half a second
    microjoules += peak ? 15'000'000 : 4'000'000;
    machine.write("hwmon/hwmon2/energy1_input", std::to_string(microjoules) + "\n");
    machine.write("drm/card0/gt/gt0/rps_act_freq_mhz", peak ? "600\n" : i > 90 ? "0\n" : "1300\n");
    machine.write("drm/card0/gt/gt0/throttle_reason_status", peak ? "1\n" : "0\n");
    machine.write("drm/card0/gt/gt0/throttle_reason_thermal", peak ? "1\n" : "0\n");
    machine.run(100ms, [](Nanoseconds) { return 0.5; });
  }
  (void)machine.busy("a");
  CHECK(machine.watts.most > 110);
  CHECK(machine.watts.most <= 150);
  CHECK(machine.hertz.least == doctest::Approx(600e6));  // 0 is a parked GT, no clock
  CHECK(machine.throttled("thermal") == doctest::Approx(0.5));
  CHECK(machine.throttled("any") == doctest::Approx(0.5));
}

TEST_CASE("an energy counter that reads 20 J lower once gives no peak of power when it goes on") {
  SampledMachine machine;
  machine.run(1s, [](Nanoseconds) { return 0.5; });
  std::uint64_t microjoules = 1'000'000'000;
  for (int i = 0; i < 100; ++i) {
    microjoules += 4'000'000;
    const std::uint64_t read = i % 23 > 20 ? microjoules - 20'000'000 : microjoules;  // 200 ms: one reading at most
    machine.write("hwmon/hwmon2/energy1_input", std::to_string(read) + "\n");
    machine.run(100ms, [](Nanoseconds) { return 0.5; });
  }
  (void)machine.busy("a");
  CHECK(machine.watts.most > 35);
  CHECK(machine.watts.most <= 60);  // two or three steps of the file in one window
}

TEST_CASE("an engine that stops for the night has no gap") {
  EngineStatistics engine;
  engine.add(0.5, 100ms, 0.95);
  for (int i = 0; i < 601; ++i) engine.add(0, 100ms, 0.95);
  engine.add(0.5, 100ms, 0.95);
  CHECK(count_of(engine.gaps()) == 0);
  engine.add(0.04, 100ms, 0.95);
  engine.add(0.5, 100ms, 0.95);
  CHECK(count_of(engine.gaps()) == 1);
}

TEST_SUITE_END();
