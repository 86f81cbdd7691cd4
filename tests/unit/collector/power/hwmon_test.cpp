// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "collector/collectors.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("hwmon_collector");

using namespace igpu;
using igpu::test::CollectorRun;
using igpu::test::TestMachine;

namespace {

Gpu only_gpu(TestMachine& m) {
  auto gpus = m.gpus();
  REQUIRE(gpus.size() == 1);
  return gpus.front();
}

using Run = CollectorRun<hwmon_collector>;

}  // namespace

TEST_CASE("an Arc A380 under i915") {
  TestMachine m("a380-i915");
  Run run(m, only_gpu(m));
  run.collect();
  CHECK(run.value("intel_gpu_temperature_celsius", {{"device", "0000:0b:00.0"}, {"sensor", "package"}}) == 55);
  CHECK(run.value("intel_gpu_fan_speed_rpm", {{"fan", "1"}}) == 0);  // it is stopped
  CHECK(run.value("intel_gpu_voltage_volts", {{"domain", "package"}}) == 0.603);
  CHECK(run.value("intel_gpu_power_limit_watts", {{"domain", "package"}, {"limit", "max"}}) == 55);
  CHECK(run.count("intel_gpu_power_limit_watts") == 1);  // a rated_max of 0 is none
  CHECK(run.count("intel_gpu_current_limit_amperes") == 0);
  for (const char* feature : {"temperature", "fan", "voltage", "power_limits"}) CHECK(run.available(feature));
}

TEST_CASE("an Arc B580 under xe, new and old kernel") {
  {
    TestMachine m("b580-xe-many-temps");
    Run run(m, only_gpu(m));
    run.collect();
    CHECK(run.count("intel_gpu_temperature_celsius") == 16);
    CHECK(run.value("intel_gpu_temperature_celsius", {{"sensor", "vram_ch_10"}}) == 54);
    CHECK(run.count("intel_gpu_fan_speed_rpm") == 3);
    CHECK(run.value("intel_gpu_power_limit_watts", {{"domain", "card"}, {"limit", "cap"}}) == 190);
    CHECK(run.missing("voltage") == Reason::hardware);
  }
  TestMachine m("b580-xe-k6.14");
  Run run(m, only_gpu(m));
  run.collect();
  CHECK(run.count("intel_gpu_temperature_celsius") == 0);
  CHECK(run.count("intel_gpu_power_limit_watts") == 1);
  CHECK(run.value("intel_gpu_power_limit_watts", {{"limit", "crit"}}) == 380);
}

TEST_CASE("an integrated GPU has the CPU package's temperature and nothing else") {
  TestMachine m("cometlake-i915");
  m.tree.write("sys/class/hwmon/hwmon3/name", "coretemp\n");
  m.tree.write("sys/class/hwmon/hwmon3/temp1_label", "Package id 0\n");
  m.tree.write("sys/class/hwmon/hwmon3/temp1_input", "47000\n");
  m.tree.write("sys/class/hwmon/hwmon3/temp2_label", "Core 0\n");
  m.tree.write("sys/class/hwmon/hwmon3/temp2_input", "46000\n");
  Run run(m, only_gpu(m));
  run.collect();
  CHECK(run.value("intel_gpu_temperature_celsius", {{"sensor", "package"}}) == 47);
  CHECK(run.count("intel_gpu_temperature_celsius") == 1);
  CHECK(run.missing("fan") == Reason::hardware);
  CHECK(run.missing("power_limits") == Reason::hardware);
}

TEST_CASE("coretemp that is loaded later is found later") {
  TestMachine m("cometlake-i915");
  Run run(m, only_gpu(m));
  for (int scrape = 0; scrape < 5; ++scrape) run.collect();
  CHECK(run.missing("temperature") == Reason::kernel);
  m.tree.write("sys/class/hwmon/hwmon3/name", "coretemp\n");
  m.tree.write("sys/class/hwmon/hwmon3/temp1_label", "Package id 0\n");
  m.tree.write("sys/class/hwmon/hwmon3/temp1_input", "47000\n");
  for (int scrape = 0; scrape < 16; ++scrape) run.collect();
  CHECK(run.value("intel_gpu_temperature_celsius", {{"sensor", "package"}}) == 47);
}

TEST_CASE("a channel whose label cannot be read does not pass for the package, and is found when it can be read") {
  TestMachine m("b580-xe-loaded-throttled");
  m.sys.fail_reading("temp3_label", EIO);
  m.sys.fail_reading("power1_label", EIO);
  Run run(m, only_gpu(m));
  for (int scrape = 0; scrape < 3; ++scrape) {
    run.collect();
    CHECK(run.count("intel_gpu_temperature_celsius") == 1);
    CHECK(run.value("intel_gpu_temperature_celsius", {{"sensor", "package"}}) == 62);
    CHECK(run.count("intel_gpu_power_limit_watts") == 0);
    CHECK(run.count("intel_gpu_fan_speed_rpm") == 3);
    CHECK(run.failures() == 1);
  }
  m.sys.heal();
  run.collect();
  CHECK(run.value("intel_gpu_temperature_celsius", {{"sensor", "vram"}}) == 64);
  CHECK(run.value("intel_gpu_power_limit_watts", {{"domain", "card"}, {"limit", "cap"}}) == 180);
  CHECK(run.failures() == 0);
}

TEST_CASE("a hwmon whose name cannot be read is a failure; names of other devices do not matter") {
  TestMachine card("a380-i915");
  card.sys.fail_reading("/name", EIO);
  Run run(card, only_gpu(card));
  run.collect();
  CHECK(run.failures() == 1);

  TestMachine m("cometlake-i915");
  m.tree.write("sys/class/hwmon/hwmon0/name", "nvme\n");
  m.tree.write("sys/class/hwmon/hwmon3/name", "coretemp\n");
  m.tree.write("sys/class/hwmon/hwmon3/temp1_label", "Package id 0\n");
  m.tree.write("sys/class/hwmon/hwmon3/temp1_input", "47000\n");
  m.sys.fail_reading("hwmon0/name", EIO);
  Run integrated(m, only_gpu(m));
  integrated.collect();
  CHECK(integrated.value("intel_gpu_temperature_celsius", {{"sensor", "package"}}) == 47);
  CHECK(integrated.failures() == 0);
}

TEST_CASE("a card whose driver has no hwmon on this kernel") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  m.tree.remove("sys/" + gpu.pci_path + "/hwmon");
  Run run(m, gpu);
  run.collect();
  CHECK(run.missing("temperature") == Reason::kernel);
  CHECK(run.missing("fan") == Reason::kernel);
  CHECK(run.failures() == 0);
}

TEST_CASE("hwmon registered after the DRM node is found at the second scrape") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  m.tree.move("sys/" + gpu.pci_path + "/hwmon", "sys/later");
  Run run(m, gpu);
  run.collect();
  m.tree.move("sys/later", "sys/" + gpu.pci_path + "/hwmon");
  run.collect();
  CHECK(run.value("intel_gpu_temperature_celsius") == 55);
}

TEST_CASE("a failed sensor is a failure and costs only its own series; ENODATA is absence") {
  TestMachine m("b580-xe-many-temps");
  Run run(m, only_gpu(m));
  run.collect();
  m.sys.fail_reading("temp3_input", EIO);
  m.sys.fail_reading("temp4_input", ENODATA);
  run.collect();
  CHECK(run.failures() == 1);
  CHECK(run.count("intel_gpu_temperature_celsius") == 14);
  CHECK(run.count("intel_gpu_temperature_celsius", {{"sensor", "vram"}}) == 0);
  CHECK(run.available("temperature"));
  m.sys.heal();
  run.collect();
  CHECK(run.failures() == 0);
  CHECK(run.count("intel_gpu_temperature_celsius") == 16);
}

TEST_CASE("a fan read by another process at the same moment has no speed, and that is no failure") {
  TestMachine m("a380-i915");
  Run run(m, only_gpu(m));
  m.sys.fail_reading("fan1_input", EAGAIN);
  run.collect();
  CHECK(run.failures() == 0);
  CHECK(run.count("intel_gpu_fan_speed_rpm") == 0);
  CHECK(run.available("fan"));
}

TEST_CASE("limits of temperatures, so that the distance to them can be a rule") {
  TestMachine m("b580-xe-many-temps");
  const Gpu gpu = only_gpu(m);
  Run run(m, gpu);
  run.collect();
  const char* const kLimit = "intel_gpu_temperature_limit_celsius";
  CHECK(run.value(kLimit, {{"device", gpu.address}, {"sensor", "package"}, {"limit", "crit"}}) == 100);
  CHECK(run.value(kLimit, {{"sensor", "package"}, {"limit", "emergency"}}) == 125);
  CHECK(run.available("temperature_limits"));

  TestMachine older("a380-i915");
  Run none(older, only_gpu(older));
  none.collect();
  CHECK(none.count(kLimit) == 0);
  CHECK(none.missing("temperature_limits") == Reason::kernel);

  TestMachine integrated("cometlake-i915");
  integrated.tree.write("sys/class/hwmon/hwmon3/name", "coretemp\n");
  integrated.tree.write("sys/class/hwmon/hwmon3/temp1_label", "Package id 0\n");
  integrated.tree.write("sys/class/hwmon/hwmon3/temp1_input", "47000\n");
  integrated.tree.write("sys/class/hwmon/hwmon3/temp1_crit", "100000\n");
  integrated.tree.write("sys/class/hwmon/hwmon3/temp2_label", "Core 0\n");
  integrated.tree.write("sys/class/hwmon/hwmon3/temp2_input", "46000\n");
  integrated.tree.write("sys/class/hwmon/hwmon3/temp2_crit", "100000\n");
  Run package(integrated, only_gpu(integrated));
  package.collect();
  CHECK(package.count(kLimit) == 1);
  CHECK(package.value(kLimit, {{"sensor", "package"}, {"limit", "crit"}}) == 100);
}

TEST_SUITE_END();
