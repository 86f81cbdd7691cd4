// SPDX-License-Identifier: Apache-2.0
//
// What collectors report under Windows with --collector.sysman.
#include <doctest/doctest.h>

#include <string>

#include "collector/hwmon.h"
#include "collector/imc.h"
#include "collector/power.h"
#include "support/fake_gpu_adapters.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("sysman collectors");

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr std::string_view kCard = "adapter 1 8086 56a0 3 0 0 Intel(R) Arc(TM) A770 Graphics\n";

struct SysmanMachine : TestMachine {
  explicit SysmanMachine(const std::string& sensors) : adapters(std::string(kCard) + sensors) {
    machine().adapters = &adapters;
  }
  void pass(std::chrono::milliseconds time) {
    clock.advance(time);
    adapters.advance(static_cast<std::uint64_t>(time.count()));
  }
  FakeGpuAdapters adapters;
};

// Asks Sysman, unless it is turned off.
template <class C>
struct SysmanRun : CollectorRun<C> {
  explicit SysmanRun(SysmanMachine& m, const char* on = "true") : CollectorRun<C>(m, gpu_before(m)) {
    this->options["collector.sysman"] = {on};
    this->bind();  // with the option
  }
  static Gpu gpu_before(SysmanMachine& m) {
    Gpu gpu = m.gpus().at(0);
    --gpu.binding;
    return gpu;
  }
};

}  // namespace

TEST_CASE("power: joules and watts by domain") {
  SysmanMachine m("energy 1 120000\nenergy 2 90000\nenergy 3 0\n");
  SysmanRun<PowerCollector> power(m);
  m.pass(std::chrono::seconds(10));
  power.collect();
  m.pass(std::chrono::seconds(10));
  power.collect();
  CHECK(power.value("intel_gpu_energy_joules_total", {{"domain", "card"}, {"source", "sysman"}}) ==
        doctest::Approx(2400));
  CHECK(power.value("intel_gpu_power_watts", {{"domain", "card"}}) == doctest::Approx(120));
  CHECK(power.value("intel_gpu_power_watts", {{"domain", "package"}}) == doctest::Approx(90));
  CHECK(power.count("intel_gpu_power_watts", {{"domain", "stack"}}) == 0);
  CHECK(power.count("intel_gpu_energy_joules_total", {{"domain", "stack"}}) == 0);
  CHECK(power.available("power"));
}

TEST_CASE("power: a leap that no card can draw adds nothing") {
  SysmanMachine m("energy 1 9000000\n");
  SysmanRun<PowerCollector> power(m);
  m.pass(std::chrono::seconds(10));
  power.collect();
  m.pass(std::chrono::seconds(10));
  power.collect();
  CHECK(power.value("intel_gpu_energy_joules_total") == doctest::Approx(90'000));
  CHECK(power.count("intel_gpu_power_watts") == 0);
}

TEST_CASE("power: a GPU that is bound again goes on from where it was") {
  SysmanMachine m("energy 1 120000\n");
  SysmanRun<PowerCollector> power(m);
  m.pass(std::chrono::seconds(10));
  power.collect();
  m.adapters.play(std::string(kCard) + "energy 1 50000\n");
  power.bind();
  m.pass(std::chrono::seconds(10));
  power.collect();
  CHECK(power.value("intel_gpu_energy_joules_total") == doctest::Approx(1200));
  CHECK(power.count("intel_gpu_power_watts") == 0);
}

TEST_CASE("power: without the flag, or without Sysman, there is none, and it says why") {
  SysmanMachine m("energy 1 120000\n");
  SysmanRun<PowerCollector> off(m, "false");
  off.collect();
  CHECK(off.count("intel_gpu_energy_joules_total") == 0);
  CHECK(off.missing("power") == Reason::disabled);
  m.adapters.play(std::string(kCard) + "energy 1 120000\nfail sysman 78000001\n");
  SysmanRun<PowerCollector> none(m);
  none.collect();
  CHECK(none.missing("power") == Reason::kernel);
  CHECK(none.failures() == 0);
  m.adapters.play(std::string(kCard) + "energy 1 120000\nfail energy 7ffffffe\n");
  SysmanRun<PowerCollector> broken(m);
  broken.collect();
  CHECK(broken.failures() == 1);
}

TEST_CASE("hwmon: what Windows does not report") {
  SysmanMachine m("sensors 0 0 0\ncelsius 1 62.5\ncelsius 2 70\nturning 1450\nturning 0\n");
  SysmanRun<HwmonCollector> hwmon(m);
  hwmon.collect();
  CHECK(hwmon.value("intel_gpu_temperature_celsius", {{"sensor", "gpu"}}) == 62.5);
  CHECK(hwmon.value("intel_gpu_temperature_celsius", {{"sensor", "vram"}}) == 70);
  CHECK(hwmon.value("intel_gpu_fan_speed_rpm", {{"fan", "1"}}) == 1450);
  CHECK(hwmon.value("intel_gpu_fan_speed_rpm", {{"fan", "2"}}) == 0);
  CHECK(hwmon.available("temperature"));
  CHECK(hwmon.available("fan"));
}

TEST_CASE("hwmon: what Windows reports is not replaced") {
  SysmanMachine m("sensors 1200 0 500\ncelsius 1 62.5\ncelsius 2 70\nturning 1450\nturning 900\n");
  SysmanRun<HwmonCollector> hwmon(m);
  hwmon.collect();
  CHECK(hwmon.value("intel_gpu_temperature_celsius", {{"sensor", "gpu"}}) == 50);
  CHECK(hwmon.value("intel_gpu_temperature_celsius", {{"sensor", "vram"}}) == 70);
  CHECK(hwmon.count("intel_gpu_fan_speed_rpm") == 1);
  CHECK(hwmon.value("intel_gpu_fan_speed_rpm") == 1200);
}

TEST_CASE("hwmon: a temperature that drops to 0 is none") {
  SysmanMachine m("sensors 0 0 0\ncelsius 1 0\nturning -1\n");
  SysmanRun<HwmonCollector> hwmon(m);
  hwmon.collect();
  CHECK(hwmon.count("intel_gpu_temperature_celsius") == 0);
  CHECK(hwmon.missing("temperature") == Reason::kernel);
  CHECK(hwmon.missing("fan") == Reason::kernel);
  CHECK(hwmon.failures() == 0);
}

TEST_CASE("imc: traffic of a card's memory") {
  SysmanMachine m("traffic 200000 100000\ntraffic 1000 500\n");
  SysmanRun<ImcCollector> imc(m);
  m.pass(std::chrono::seconds(10));
  imc.collect();
  CHECK(imc.value("intel_gpu_memory_bandwidth_bytes_total", {{"direction", "read"}}) == 2'010'000'000);
  CHECK(imc.value("intel_gpu_memory_bandwidth_bytes_total", {{"direction", "write"}}) == 1'005'000'000);
  CHECK(imc.available("memory_bandwidth"));
  m.adapters.play(std::string(kCard) + "traffic 0 0\n");
  imc.bind();
  imc.collect();
  CHECK(imc.count("intel_gpu_memory_bandwidth_bytes_total") == 0);
  CHECK(imc.missing("memory_bandwidth") == Reason::kernel);
}

TEST_SUITE_END();
