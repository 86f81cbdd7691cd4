// SPDX-License-Identifier: Apache-2.0
// The flight recorder with frames and a clock that the test makes.
#include "collector/sampling/flight_recorder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "collector/sampling/sampler.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::sampling;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* kAddress = "0000:00:02.0";
constexpr Nanoseconds kTick = 100ms;

struct AwakeAccess final : GpuAccess {
  PowerStatus power_status() override { return {false, Reading<std::uint64_t>(1)}; }
  bool pmu_is_open() const override { return true; }
  Absent pmu_closed_because() const override { return {Reason::suspended}; }
  bool gone() const override { return removed; }
  bool removed = false;
};

// An i915 GPU with one video engine and one clock, sampled every 100 ms.
class Recorded {
 public:
  explicit Recorded(FlightOptions options = {.length = 20s})
      : flights(std::make_shared<Flights>()),
        recorder(std::make_shared<FlightRecorder>(std::move(options), flights)),
        sampler(m.machine(), {.interval = kTick, .recorder = recorder}) {
    const std::string pmu = "sys/bus/event_source/devices/i915/";
    m.tree.write(pmu + "type", "17\n");
    m.tree.write(pmu + "cpumask", "0\n");
    m.tree.write(pmu + "format/i915_eventid", "config:0-20\n");
    m.tree.write(pmu + "events/vcs0-busy", "config=0x2000\n");
    m.tree.write(pmu + "events/vcs0-busy.unit", "ns\n");
    m.perf.add_pmu(17);
    write_throttle(false);
    m.tree.write(std::string(kGt) + "rps_act_freq_mhz", "1300\n");
    bind();
    run(500ms, 0.5);
  }
  void bind() {
    Gpu gpu;
    gpu.address = kAddress;
    gpu.pci_path = "devices/pci0000:00/0000:00:02.0";
    gpu.card = "card0";
    gpu.driver = Driver::i915;
    gpu.kind = GpuKind::integrated;
    access = std::make_shared<AwakeAccess>();
    sampler.follow({{gpu, access}});
  }
  void write_throttle(bool on) {
    const char* const value = on ? "1\n" : "0\n";
    m.tree.write(std::string(kGt) + "throttle_reason_status", value);
    m.tree.write(std::string(kGt) + "throttle_reason_thermal", value);
  }
  void run(Nanoseconds length, double busy) {
    for (Nanoseconds passed{}; passed < length; passed += kTick) {
      m.clock.advance(kTick);
      m.perf.counter(17, 0x2000) += static_cast<std::uint64_t>(std::llround(busy * 1e8));
      sampler.tick(1);
    }
  }
  Nanoseconds now() { return m.clock.now(); }
  std::size_t count() const { return flights->kept().size(); }
  const Flight& last() const { return *flights->kept().back(); }

  static constexpr const char* kGt = "sys/devices/pci0000:00/0000:00:02.0/drm/card0/gt/gt0/";
  TestMachine m;
  std::shared_ptr<Flights> flights;
  std::shared_ptr<FlightRecorder> recorder;
  std::shared_ptr<AwakeAccess> access;
  Sampler sampler;
};

// The values of one column, oldest first.
std::vector<float> column(const Flight::Gpu& gpu, std::string_view name) {
  for (std::size_t i = 0; i < gpu.columns.size(); ++i) {
    if (gpu.columns[i].name != name) continue;
    std::vector<float> values;
    for (std::size_t row = 0; row < gpu.samples.size(); ++row)
      values.push_back(gpu.values[row * gpu.columns.size() + i]);
    return values;
  }
  return {};
}

FlightTrigger trigger(std::string_view text) { return std::get<FlightTrigger>(parse_flight_trigger(text)); }

FlightOptions with(std::string_view text) { return {.length = 20s, .triggers = {trigger(text)}}; }

}  // namespace

TEST_SUITE_BEGIN("flight_recorder");

TEST_CASE("a request keeps the time before it and ten seconds after it") {
  Recorded machine;
  machine.run(30s, 0.25);
  const Nanoseconds asked = machine.now() + kTick;  // it is noticed at the next tick
  machine.flights->request({.cause = FlightCause::request, .detail = "SIGUSR1"});
  machine.run(9900ms, 0.75);
  CHECK(machine.count() == 0);
  machine.run(300ms, 0.75);
  REQUIRE(machine.count() == 1);
  const Flight& flight = machine.last();
  CHECK(flight.number == 1);
  CHECK(flight.event.detail == "SIGUSR1");
  CHECK(flight.event.time == asked);
  REQUIRE(flight.gpus.size() == 1);
  const Flight::Gpu& gpu = flight.gpus[0];
  CHECK(gpu.device == kAddress);
  CHECK(gpu.samples.front().time == asked - 20s);
  CHECK(gpu.samples.back().time == asked + 10s);
  CHECK(gpu.samples.size() == 301);
  CHECK(gpu.values.size() == gpu.samples.size() * gpu.columns.size());
  const std::vector<float> busy = column(gpu, "gt0 vcs0 busy");
  REQUIRE(busy.size() == 301);
  CHECK(busy[199] == doctest::Approx(0.25));
  CHECK(busy[200] == doctest::Approx(0.75));
  CHECK(column(gpu, "gt0 frequency").back() == doctest::Approx(1.3e9));
  CHECK(column(gpu, "gt0 throttled thermal").back() == doctest::Approx(0));
  CHECK(machine.flights->counts()[static_cast<std::size_t>(FlightCause::request)] == 1);
}

TEST_CASE("a thousand requests in a second are one flight, which counts them") {
  Recorded machine;
  for (int i = 0; i < 1000; ++i) {
    machine.flights->request({.cause = FlightCause::request});
    if (i % 100 == 99) machine.run(kTick, 0.5);
  }
  machine.run(60s, 0.5);
  REQUIRE(machine.count() == 1);
  CHECK(machine.last().more_events == 999);
}

TEST_CASE("a flood of requests is counted to the last, and takes no place from other causes") {
  Recorded machine;
  for (int i = 0; i < 5000; ++i) machine.flights->request({.cause = FlightCause::scrape_failed, .detail = "power"});
  for (int gpu = 0; gpu < 200; ++gpu)
    machine.flights->request({.cause = FlightCause::request, .device = "gpu " + std::to_string(gpu)});
  machine.run(20s, 0.5);
  REQUIRE(machine.count() == 1);
  CHECK(machine.last().event.cause == FlightCause::request);
  CHECK(machine.last().more_events == 199);  // failed scrapes were not asked for
}

TEST_CASE("a fault that a scrape reports late has the time before it all the same") {
  Recorded machine;
  machine.run(40s, 0.5);
  const Nanoseconds fault = machine.now();
  machine.run(15s, 0);
  machine.flights->note({kAddress, "GPU HANG: ecode 12:1:8ed9fff2, in ffmpeg [2101]", fault});
  machine.flights->note({kAddress, "of an hour ago", fault - 1h});
  machine.flights->request({FlightCause::hang, kAddress, "hang", fault});
  machine.run(2s, 0);
  REQUIRE(machine.count() == 1);
  const Flight& flight = machine.last();
  CHECK(flight.event.time == fault);
  CHECK(flight.gpus.at(0).samples.front().time == fault - 20s);
  CHECK(flight.gpus[0].samples.back().time == fault + 10s);
  REQUIRE(flight.faults.size() == 1);
  CHECK(flight.faults[0].text == "GPU HANG: ecode 12:1:8ed9fff2, in ffmpeg [2101]");
}

TEST_CASE("an engine that is busy for long enough is kept once, until it was less busy again") {
  Recorded machine(with("engine_busy{class=video}>0.98/5s"));
  machine.run(4900ms, 1);
  machine.run(kTick, 0.9);
  machine.run(30s, 0.5);
  CHECK(machine.count() == 0);  // not for long enough
  machine.run(40s, 1);
  REQUIRE(machine.count() == 1);
  CHECK(machine.last().event.cause == FlightCause::engine_busy);
  CHECK(machine.last().event.device == kAddress);
  CHECK(machine.last().event.detail == "vcs0");
  machine.run(1s, 0.5);
  machine.run(20s, 1);
  CHECK(machine.count() == 2);
}

TEST_CASE("a trigger of another class of engines is not pulled") {
  Recorded machine(with("engine_busy{class=render}>0.98/5s"));
  machine.run(60s, 1);
  CHECK(machine.count() == 0);
}

TEST_CASE("a gap is kept when the engine works again, and the end of the work is no gap") {
  Recorded machine(with("idle_gap{class=video}>0.5s"));
  machine.run(500ms, 0);
  machine.run(20s, 0.6);
  CHECK(machine.count() == 0);  // not longer than that
  machine.run(600ms, 0);
  machine.run(20s, 0.6);
  REQUIRE(machine.count() == 1);
  CHECK(machine.last().event.cause == FlightCause::idle_gap);
  machine.run(2min, 0);
  machine.run(20s, 0.6);
  CHECK(machine.count() == 1);
}

TEST_CASE("a frequency that is limited for long enough") {
  Recorded machine(with("throttled/2s"));
  machine.write_throttle(true);
  machine.run(1900ms, 0.6);
  machine.write_throttle(false);
  machine.run(20s, 0.6);
  CHECK(machine.count() == 0);
  machine.write_throttle(true);
  machine.run(20s, 0.6);
  REQUIRE(machine.count() == 1);
  CHECK(machine.last().event.detail == "gt0");
  CHECK(column(machine.last().gpus.at(0), "gt0 throttled thermal").back() == doctest::Approx(1));
}

TEST_CASE("a failed scrape is kept only if that was asked for") {
  Recorded without;
  without.flights->request({.cause = FlightCause::scrape_failed, .detail = "power"});
  without.run(20s, 0.5);
  CHECK(without.count() == 0);
  Recorded machine(with("scrape_failed"));
  for (int scrape = 0; scrape < 10; ++scrape) {  // it fails again and again
    machine.flights->request({.cause = FlightCause::scrape_failed, .detail = "power"});
    machine.run(20s, 0.5);
  }
  CHECK(machine.count() == 1);
  machine.run(FlightRecorder::kStillFails, 0.5);
  machine.flights->request({.cause = FlightCause::scrape_failed, .detail = "power"});
  machine.run(20s, 0.5);
  CHECK(machine.count() == 2);
}

TEST_CASE("clients that came and went") {
  Recorded machine;
  const auto scrape = [&machine](std::vector<std::uint64_t> ids) {
    ClientSnapshot snapshot;
    snapshot.time = machine.now();
    for (const std::uint64_t id : ids) {
      DrmClient client;
      client.device = kAddress;
      client.id = client.serial = id;
      client.pid = 2000 + static_cast<std::uint32_t>(id);
      snapshot.clients.push_back(client);
      ClientProcess process;
      process.pid = client.pid;
      process.comm = "ffmpeg";
      snapshot.processes.push_back(process);
    }
    machine.recorder->see_clients(snapshot);
  };
  const Nanoseconds begin = machine.now();
  scrape({1, 2});
  machine.run(5s, 0.5);
  scrape({2, 3});
  machine.run(60s, 0.5);
  scrape({3});
  machine.flights->request({});
  machine.run(11s, 0.5);
  REQUIRE(machine.count() == 1);
  CHECK(machine.last().clients == std::vector<Flight::Client>{{kAddress, 3, 2003, "ffmpeg", begin + 5s, begin + 65s}});
}

TEST_CASE("a GPU that is rebound after its fault is shown before and after that") {
  Recorded machine;
  machine.run(25s, 0.75);
  machine.flights->request({FlightCause::wedged, kAddress, "wedged", machine.now()});
  machine.run(2s, 0);
  machine.access->removed = true;
  machine.run(kTick, 0);
  machine.bind();
  machine.run(15s, 0.25);
  REQUIRE(machine.count() == 1);
  REQUIRE(machine.last().gpus.size() == 2);
  const std::vector<float> before = column(machine.last().gpus[0], "gt0 vcs0 busy");
  const std::vector<float> after = column(machine.last().gpus[1], "gt0 vcs0 busy");
  CHECK(before.size() > 200);
  CHECK(before.front() == doctest::Approx(0.75));
  CHECK(machine.last().gpus[0].samples.back().state == "gone");
  CHECK(after.size() > 70);
  CHECK(after.back() == doctest::Approx(0.25));
}

TEST_CASE("clients for which there is no room are counted") {
  Recorded machine;
  ClientSnapshot snapshot;
  for (std::uint64_t id = 0; id < FlightRecorder::kMostClients + 5; ++id) {
    DrmClient client;
    client.device = kAddress;
    client.id = client.serial = id;
    snapshot.clients.push_back(client);
  }
  for (int scrape = 0; scrape < 2; ++scrape) {
    machine.run(1s, 0.5);
    snapshot.time = machine.now();
    machine.recorder->see_clients(snapshot);
  }
  machine.flights->request({});
  machine.run(11s, 0.5);
  REQUIRE(machine.count() == 1);
  CHECK(machine.last().clients.size() == FlightRecorder::kMostClients);
  CHECK(machine.last().more_clients == 5);
}

TEST_CASE("of a flood of the kernel's lines the first and the last are kept, and the others counted") {
  Recorded machine;
  machine.run(5s, 0.5);
  for (int i = 0; i < 1000; ++i) machine.flights->note({kAddress, "line " + std::to_string(i), machine.now()});
  machine.flights->request({FlightCause::hang, kAddress, "hang", machine.now()});
  machine.run(20s, 0);
  REQUIRE(machine.count() == 1);
  REQUIRE(machine.last().faults.size() == 256);
  CHECK(machine.last().faults[0].text == "line 0");
  CHECK(machine.last().faults[127].text == "line 127");
  CHECK(machine.last().faults[128].text == "line 872");
  CHECK(machine.last().faults[255].text == "line 999");
  CHECK(machine.last().more_faults == 744);
}

TEST_CASE("the line that tells of the fault is there, wherever in a flood it came") {
  Recorded machine;
  const auto flood = [&](std::string_view name) {
    for (int i = 0; i < 500; ++i) machine.flights->note({kAddress, std::string(name), machine.now()});
    machine.run(kTick, 0.5);
  };
  flood("before");
  const Nanoseconds fault = machine.now();
  machine.flights->note({kAddress, "GPU HANG: ecode 12:1:8ed9fff2, in ffmpeg [2101]", fault});
  machine.run(kTick, 0.5);
  flood("after");
  machine.flights->request(
      {FlightCause::hang, kAddress, "hang", fault, "GPU HANG: ecode 12:1:8ed9fff2, in ffmpeg [2101]"});
  machine.run(20s, 0);
  REQUIRE(machine.count() == 1);
  const std::vector<Flight::Fault>& lines = machine.last().faults;
  REQUIRE(lines.size() == 257);
  CHECK(lines[127].text == "before");
  CHECK(lines[128].text == "GPU HANG: ecode 12:1:8ed9fff2, in ffmpeg [2101]");
  CHECK(lines[128].time == fault);
  CHECK(lines[129].text == "after");
  CHECK(lines.size() + machine.last().more_faults == 1001);
}

TEST_CASE("lines that were left out of another time do not count") {
  Recorded machine;
  for (int i = 0; i < 1000; ++i) machine.flights->note({kAddress, "old", machine.now()});
  machine.run(2min, 0.5);
  machine.flights->note({kAddress, "new", machine.now()});
  machine.flights->request({FlightCause::hang, kAddress, "hang", machine.now(), "new"});
  machine.run(20s, 0);
  REQUIRE(machine.count() == 1);
  REQUIRE(machine.last().faults.size() == 1);
  CHECK(machine.last().faults[0].text == "new");
  CHECK(machine.last().more_faults == 0);
}

TEST_CASE("a fault takes over the flight that was asked for, and another fault does not take over that of the first") {
  Recorded machine;
  machine.flights->request({.cause = FlightCause::request, .device = {}, .detail = "POST"});
  machine.run(5s, 0.5);
  const Nanoseconds fault = machine.now();
  machine.flights->request({FlightCause::hang, kAddress, "job_timeout", fault});
  machine.run(1s, 0);
  machine.flights->request({FlightCause::reset, kAddress, "full", machine.now()});
  machine.run(8900ms, 0);
  CHECK(machine.count() == 0);
  machine.run(1s, 0);
  REQUIRE(machine.count() == 1);
  CHECK(machine.last().event.cause == FlightCause::hang);
  CHECK(machine.last().event.detail == "job_timeout");
  CHECK(machine.last().event.time == fault);
  CHECK(machine.last().more_events == 2);
  CHECK(machine.flights->counts()[static_cast<std::size_t>(FlightCause::request)] == 0);
}

TEST_CASE("whoever asks for flights without end keeps no trigger from recording") {
  Recorded machine(with("engine_busy{class=video}>0.9/5s"));
  for (int second = 0; second < 60; ++second) {
    for (int i = 0; i < 10; ++i) machine.flights->request({.cause = FlightCause::request, .detail = "POST"});
    machine.run(1s, second < 8 ? 0.5 : 0.99);
  }
  CHECK(machine.flights->counts()[static_cast<std::size_t>(FlightCause::engine_busy)] == 1);
}

TEST_CASE("flights that were only asked for go before those of faults") {
  Flights flights;
  const auto causes = [&flights] {
    std::string text;
    for (const auto& flight : flights.kept()) text += flight->event.cause == FlightCause::request ? 'r' : 'h';
    return text;
  };
  const auto add = [&flights](FlightCause cause) {
    Flight flight;
    flight.event.cause = cause;
    flights.add(std::move(flight));
  };
  for (int i = 0; i < 10; ++i) add(FlightCause::hang);
  for (int i = 0; i < 100; ++i) add(FlightCause::request);
  CHECK(causes() == "hhhhhhhhhr");
  CHECK(flights.kept().front()->number == 2);
  CHECK(flights.kept().back()->number == 110);  // the last one that was asked for
  add(FlightCause::hang);
  CHECK(causes() == "hhhhhhhhhh");
  add(FlightCause::hang);
  CHECK(flights.kept().front()->number == 3);
}

TEST_CASE("jobs that scrapes counted are there, class by class, since the scrape before") {
  Recorded machine;
  JobCounts video{.source = JobSource::i915, .engine_class = JobClass::video};
  const auto scrape = [&](std::uint64_t jobs, double queued, double ran) {
    video.outcomes[0] = jobs;
    video.queue_seconds = queued;
    video.run_seconds = ran;
    machine.recorder->see_jobs(kAddress, machine.now(), std::span(&video, 1));
  };
  scrape(1'000'000'000, 5000, 6000);  // before this nobody knows since when
  machine.run(15s, 0.5);
  scrape(1'000'000'300, 5001.5, 6004);
  machine.flights->request({});
  machine.run(11s, 0.5);
  REQUIRE(machine.count() == 1);
  REQUIRE(machine.last().gpus.size() == 2);
  const Flight::Gpu& jobs = machine.last().gpus[1];
  REQUIRE(jobs.samples.size() == 1);
  CHECK(jobs.samples[0].state == "scraped");
  CHECK(column(jobs, "video jobs") == std::vector<float>{300});
  CHECK(column(jobs, "video jobs queued for") == std::vector<float>{1.5F});
  CHECK(column(jobs, "video jobs ran for") == std::vector<float>{4});
}

TEST_CASE("the last ten are kept, and the number goes on") {
  Recorded machine;
  for (int i = 0; i < 12; ++i) {
    machine.flights->request({});
    machine.run(11s, 0.5);
  }
  CHECK(machine.count() == Flights::kMost);
  CHECK(machine.flights->kept().front()->number == 3);
  CHECK(machine.last().number == 12);
  CHECK(machine.flights->next_after(0, {})->number == 3);
  CHECK(machine.flights->next_after(11, {})->number == 12);
}

TEST_CASE("the memory of the frames does not grow, and is less than a megabyte for a card at 100 Hz") {
  FrameLayout layout;
  layout.engines.resize(7);
  layout.domains.resize(2);
  layout.gts.resize(1);
  FrameRing ring(60s + FlightRecorder::kAfter + FlightRecorder::kLatest, 10ms);
  SampleFrame frame;
  ring.push(layout, frame);
  const std::size_t bytes = ring.bytes();
  for (int i = 0; i < 100'000; ++i) {
    frame.time += 10ms;
    ring.push(layout, frame);
  }
  CHECK(ring.bytes() == bytes);
  CHECK(bytes < 1'000'000);
}

TEST_CASE("frames keep their values when the layout grows, and the oldest go") {
  FrameLayout layout;
  layout.engines.resize(1);
  FrameRing ring(1s, 100ms);
  SampleFrame frame;
  const auto push = [&](Nanoseconds time, float busy) {
    frame.clear();
    frame.time = time;
    frame.engine_busy[0] = busy;
    ring.push(layout, frame);
  };
  push(1s, 0.25F);
  push(1100ms, 0.5F);
  layout.engines.resize(3);
  layout.gts.resize(1);
  push(1200ms, 0.75F);
  std::vector<float> busy;
  const auto collect = [&](const SampleFrame& kept) { busy.push_back(kept.engine_busy[0]); };
  ring.for_each(0s, 1h, collect);
  CHECK(busy == std::vector<float>{0.25F, 0.5F, 0.75F});
  busy.clear();
  ring.for_each(1100ms, 1150ms, collect);
  CHECK(busy == std::vector<float>{0.5F});
  for (int i = 0; i < 100; ++i) push(2s + i * 100ms, 1);
  busy.clear();
  ring.for_each(0s, 1h, collect);
  CHECK(busy.size() == 11);
}

TEST_SUITE_END();
