// SPDX-License-Identifier: Apache-2.0
// The sampler beside the kernel's runtime power management: a GPU sleeps for as long as it does without the sampler.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

#include "collector/sampling/sampler.h"
#include "support/forwarding_directory.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::sampling;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// A GPU that goes to sleep some time after its last use, of which a reading is one, if it takes a reference.
struct SleepyGpu final : GpuAccess {
  SleepyGpu(const Clock& the_clock, Nanoseconds autosuspend_delay, bool counts_users)
      : clock(the_clock), delay(autosuspend_delay), has_usage_file(counts_users), last_use(the_clock.now()) {}

  void advance(Nanoseconds step) {
    if (working || held) use();
    if (clock.now() - last_use >= delay) suspended = true;
    if (suspended) slept += step;
  }
  void use() {
    suspended = false;
    last_use = clock.now();
  }
  void is_read() {
    ++reads;
    if (suspended) ++woken;
    use();
  }

  PowerStatus power_status() override {
    const std::uint64_t users = (working || held || scraped) ? 1 : 0;
    return {suspended, has_usage_file ? Reading<std::uint64_t>(users) : Absent{}};
  }
  bool pmu_is_open() const override { return false; }
  Absent pmu_closed_because() const override { return {Reason::suspended}; }
  bool gone() const override { return false; }

  const Clock& clock;
  const Nanoseconds delay;
  const bool has_usage_file;  // CONFIG_PM_ADVANCED_DEBUG
  Nanoseconds last_use;
  bool working = false;
  bool held = false;     // by a display
  bool scraped = false;  // a scrape reads it at this moment
  bool suspended = false;
  Nanoseconds slept{};
  int reads = 0;
  int woken = 0;
};

// Files whose reading takes a reference to the power of the GPU.
bool takes_reference(std::string_view path, Driver driver) {
  if (path.find("/hwmon/") != std::string_view::npos) return !path.ends_with("name") && !path.ends_with("_label");
  if (driver == Driver::xe) return path.find("/freq0/") != std::string_view::npos;
  return path.find("throttle_reason") != std::string_view::npos;
}

class PoweredFiles final : public ForwardingDirectory {
 public:
  PoweredFiles(const Directory& files, SleepyGpu& gpu, Driver driver)
      : ForwardingDirectory(files), gpu_(gpu), driver_(driver) {}
  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    if (takes_reference(path, driver_)) gpu_.is_read();
    return inner().read(path, buffer);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override {
    auto file = inner().open(path);
    if (!file || !takes_reference(path, driver_)) return file;
    return std::unique_ptr<File>(std::make_unique<PoweredFile>(*std::move(file), gpu_));
  }

 private:
  struct PoweredFile final : File {
    PoweredFile(std::unique_ptr<File> real_file, SleepyGpu& the_gpu) : real(std::move(real_file)), gpu(the_gpu) {}
    Reading<std::string_view> read(std::span<char> buffer) override {
      gpu.is_read();
      return real->read(buffer);
    }
    std::unique_ptr<File> real;
    SleepyGpu& gpu;
  };
  SleepyGpu& gpu_;
  const Driver driver_;
};

// A card, sampled every 10 ms or not at all.
class PoweredMachine {
 public:
  PoweredMachine(Driver driver, Nanoseconds autosuspend_delay, bool counts_users)
      : access(std::make_shared<SleepyGpu>(m.clock, autosuspend_delay, counts_users)),
        files_(m.sys, *access, driver),
        machine_{files_, m.machine().proc, m.machine().dev, m.perf, m.drm, m.clock, m.privileges, m.names},
        sampler_(machine_, {.interval = kTick}) {
    const std::string pmu = "sys/bus/event_source/devices/i915_0000_03_00.0/";
    m.tree.write(pmu + "type", "17\n");
    m.tree.write(pmu + "cpumask", "0\n");
    m.tree.write(pmu + "format/i915_eventid", "config:0-20\n");
    m.tree.write(pmu + "events/vcs0-busy", "config=0x2000\n");
    m.perf.add_pmu(17);
    const std::string device = "devices/pci0000:00/0000:03:00.0/";
    const std::string hwmon = "sys/" + device + "hwmon/hwmon2/";
    m.tree.write(hwmon + "name", std::string(to_string(driver)) + "\n");
    m.tree.write(hwmon + "energy1_input", "1000000\n");
    m.tree.write(hwmon + "power1_max", "190000000\n");
    const std::string gt = "sys/" + device + (driver == Driver::i915 ? "drm/card0/gt/gt0/" : "tile0/gt0/freq0/");
    m.tree.write(gt + (driver == Driver::i915 ? "rps_act_freq_mhz" : "act_freq"), "1300\n");
    const std::string throttle = driver == Driver::i915 ? "throttle_reason_" : "throttle/";
    m.tree.write(gt + throttle + "status", "0\n");
    m.tree.write(gt + throttle + (driver == Driver::i915 ? "thermal" : "reason_thermal"), "0\n");
    gpu_.address = "0000:03:00.0";
    gpu_.pci_path = device.substr(0, device.size() - 1);
    gpu_.card = "card0";
    gpu_.driver = driver;
    gpu_.kind = GpuKind::discrete;
  }
  void follow() { sampler_.follow({{gpu_, access}}); }

  void step(bool working) {
    access->working = working;
    m.clock.advance(kTick);
    if (working) m.perf.counter(17, 0x2000) += static_cast<std::uint64_t>(kTick.count());
    access->advance(kTick);
    sampler_.tick(1);
  }
  void run(Nanoseconds length) {
    for (Nanoseconds passed{}; passed < length; passed += kTick) step(false);
  }
  // A short job every eight seconds, and then none for a while.
  void run_jobs() {
    for (int job = 0; job < kJobs; ++job) {
      for (int i = 0; i < 5; ++i) step(true);
      run(8s - 5 * kTick);
    }
    run(40s);
  }

  static constexpr Nanoseconds kTick = 10ms;
  static constexpr int kJobs = 5;

  TestMachine m;
  std::shared_ptr<SleepyGpu> access;

 private:
  PoweredFiles files_;
  Machine machine_;
  Gpu gpu_;
  Sampler sampler_;
};

}  // namespace

TEST_SUITE_BEGIN("sampler_power");

TEST_CASE("a GPU with a short job now and then sleeps as long as without the sampler") {
  for (const Nanoseconds delay : {1s, 10s})
    for (const bool counts_users : {true, false}) {
      CAPTURE(delay.count());
      CAPTURE(counts_users);
      PoweredMachine without(Driver::i915, delay, counts_users);
      without.run_jobs();
      REQUIRE(without.access->slept > 20s);
      REQUIRE(without.access->reads == 0);

      PoweredMachine with(Driver::i915, delay, counts_users);
      with.follow();
      with.run_jobs();
      CHECK(with.access->reads > 0);  // the jobs are not missed
      CHECK(with.access->woken == 0);
      CHECK(with.access->slept + 2 * PoweredMachine::kTick * PoweredMachine::kJobs >= without.access->slept);
    }
}

TEST_CASE("xe: of an idle GPU whose PMU is closed nothing is read") {
  for (const bool counts_users : {true, false}) {
    PoweredMachine machine(Driver::xe, 1s, counts_users);
    machine.follow();
    machine.run(20s);
    CHECK(machine.access->reads == 0);
    CHECK(machine.access->slept > 18s);
    CHECK(machine.m.perf.opens == 0);
  }
}

TEST_CASE("a GPU that a display keeps awake is read although it is idle, until the display is off") {
  for (const Driver driver : {Driver::i915, Driver::xe}) {
    PoweredMachine machine(driver, 1s, true);
    machine.follow();
    machine.access->held = true;
    machine.run(5s);
    CHECK(machine.access->reads > 0);
    machine.access->held = false;
    machine.run(5s);
    CHECK(machine.access->slept > 3s);
  }
}

TEST_CASE("the reading of a scrape is not taken for a user") {
  PoweredMachine machine(Driver::i915, 10s, true);
  machine.follow();
  machine.run(1s);
  machine.access->scraped = true;
  machine.run(500ms);
  machine.access->scraped = false;
  machine.run(5s);
  CHECK(machine.access->reads == 0);
  CHECK_FALSE(machine.access->suspended);  // it would have been read
}

TEST_SUITE_END();
