// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/hwmon_files.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <map>
#include <string>

#include "support/test_machine.h"

TEST_SUITE_BEGIN("hwmon");

using namespace igpu;
using igpu::test::TestMachine;

namespace {

using Values = std::map<std::string, double>;

const std::string kPci = "devices/pci0000:00/0000:00:01.0/0000:03:00.0";

Gpu card(Driver driver, std::uint16_t device_id) {
  Gpu gpu;
  gpu.pci_path = kPci;
  gpu.driver = driver;
  gpu.device_id = device_id;
  gpu.kind = GpuKind::discrete;
  return gpu;
}

Hwmon hwmon_of(TestMachine& m) {
  const auto gpus = m.gpus();
  REQUIRE(gpus.size() == 1);
  return Hwmon::of_gpu(m.sys, gpus.front());
}

Values temperatures(Hwmon& hwmon) {
  Values values;
  for (auto& channel : hwmon.temperatures)
    if (const auto value = Hwmon::celsius(channel.attribute)) values[channel.name] = value->value;
  return values;
}
Values power_limits(Hwmon& hwmon) {
  Values values;
  for (auto& limit : hwmon.power_limits)
    if (const auto value = Hwmon::watts(limit.channel.attribute))
      values[limit.channel.name + " " + std::string(limit.limit)] = value->value;
  return values;
}
Values energies(Hwmon& hwmon) {
  Values values;
  for (auto& channel : hwmon.energies)
    values[channel.name] = static_cast<double>(channel.attribute.number().value_or(1));
  return values;
}
Values fans(Hwmon& hwmon) {
  Values values;
  for (auto& channel : hwmon.fans)
    if (const auto value = Hwmon::rpm(channel.attribute); value && *value) values[channel.name] = (*value)->value;
  return values;
}
Values voltages(Hwmon& hwmon) {
  Values values;
  for (auto& channel : hwmon.voltages)
    if (const auto value = Hwmon::volts(channel.attribute)) values[channel.name] = value->value;
  return values;
}

}  // namespace

TEST_CASE("i915, Arc A380: channels without labels are the package; a rating of 0 W is not set") {
  TestMachine m("a380-i915");
  Hwmon hwmon = hwmon_of(m);
  CHECK(hwmon.found);
  CHECK(temperatures(hwmon) == Values{{"package", 55}});
  CHECK(power_limits(hwmon) == Values{{"package max", 55}});
  CHECK(energies(hwmon) == Values{{"package", 25637161804.0}});
  CHECK(fans(hwmon) == Values{{"1", 0}});
  CHECK(voltages(hwmon) == Values{{"package", 0.603}});
}

TEST_CASE("xe, Arc A380: the package is channel 2, as its label says") {
  TestMachine m("a380-xe-k7");
  Hwmon hwmon = hwmon_of(m);
  CHECK(temperatures(hwmon) == Values{{"package", 56}, {"vram", 54}});
  CHECK(power_limits(hwmon) == Values{{"package max", 55}});
  CHECK(energies(hwmon) == Values{{"package", 59540970520.0}});
  CHECK(fans(hwmon) == Values{{"1", 945}, {"2", 0}});
  CHECK(voltages(hwmon) == Values{{"package", 0.605}});
}

TEST_CASE("xe, Battlemage on Linux 6.14: limits of 0 are not set, and the rating of 35 W is left out") {
  TestMachine m("b580-xe-k6.14");
  Hwmon hwmon = hwmon_of(m);
  CHECK(power_limits(hwmon) == Values{{"package crit", 380}});
  CHECK(energies(hwmon) == Values{{"card", 0}, {"package", 7711472839.0}});
  CHECK(temperatures(hwmon).empty());
}

TEST_CASE("xe, Battlemage with sixteen sensors: each has its own name") {
  TestMachine m("b580-xe-many-temps");
  Hwmon hwmon = hwmon_of(m);
  const Values found = temperatures(hwmon);
  CHECK(found.size() == 16);
  CHECK(found.at("package") == 53);
  CHECK(found.at("vram") == 54);
  CHECK(found.at("mctrl") == 54);
  CHECK(found.at("pcie") == 58);
  CHECK(found.at("vram_ch_0") == 48);
  CHECK(found.at("vram_ch_11") == 52);
  CHECK(power_limits(hwmon) == Values{{"card cap", 190}, {"card crit", 380}});
  CHECK(fans(hwmon) == Values{{"1", 1002}, {"2", 134}, {"3", 0}});
}

TEST_CASE("xe on Linux 6.8 has no labels: its one channel is the package") {
  TestMachine m;
  const std::string folder = "sys/" + kPci + "/hwmon/hwmon4/";
  m.tree.write(folder + "name", "xe\n");
  m.tree.write(folder + "energy1_input", "123456\n");
  m.tree.write(folder + "power1_max", "190000000\n");
  m.tree.write(folder + "power1_rated_max", "225000000\n");
  m.tree.write(folder + "curr1_crit", "40000\n");
  Hwmon hwmon = Hwmon::of_gpu(m.sys, card(Driver::xe, 0x56a0));
  CHECK(energies(hwmon) == Values{{"package", 123456}});
  CHECK(power_limits(hwmon) == Values{{"package max", 190}, {"package rated_max", 225}});
  REQUIRE(hwmon.current_limits.size() == 1);
  CHECK(hwmon.current_limits[0].name == "package");
  CHECK(Hwmon::amperes(hwmon.current_limits[0].attribute).value_or({}) == Amperes{40});
}

TEST_CASE("a card's largest stated limit bounds its power and the time its energy counter takes to wrap") {
  TestMachine m("a380-i915");
  const std::string folder = "sys/" + m.gpus().front().pci_path + "/hwmon/hwmon1/";
  const auto most = [&] { return hwmon_of(m).highest_power().value; };
  CHECK(most() == 300);  // states 55 W, which its owner may raise again
  m.tree.write(folder + "power1_crit", "450000000\n");
  CHECK(most() == 450);
  m.tree.write(folder + "power1_rated_max", "1000000000\n");
  CHECK(most() == 1000);
  m.tree.write(folder + "power1_rated_max", "9000000000000\n");  // nothing draws that
  CHECK(most() == 450);
  for (const char* file : {"power1_crit", "power1_rated_max", "power1_max"}) m.tree.write(folder + file, "0\n");
  CHECK(most() == 1000);
  CHECK(Hwmon::energy_lap(Watts{1000}) == std::chrono::milliseconds(262144));
}

TEST_CASE("where only some channel types have labels, the others are named by their index") {
  TestMachine m("b580-asrock-fedora44");
  Hwmon hwmon = hwmon_of(m);
  CHECK(power_limits(hwmon) == Values{{"card cap", 200}, {"card crit", 400}});
}

TEST_CASE("voltages are numbered from 0, everything else from 1") {
  TestMachine m;
  const std::string folder = "sys/" + kPci + "/hwmon/hwmon4/";
  m.tree.write(folder + "name", "xe\n");
  m.tree.write(folder + "energy1_input", "1\n");
  m.tree.write(folder + "energy1_label", "card\n");
  m.tree.write(folder + "energy2_input", "2\n");
  m.tree.write(folder + "energy2_label", "pkg\n");
  m.tree.write(folder + "in1_input", "850\n");
  Hwmon hwmon = Hwmon::of_gpu(m.sys, card(Driver::xe, 0x56a0));
  CHECK(voltages(hwmon) == Values{{"package", 0.85}});
}

TEST_CASE("xe temperatures without labels are named by their index") {
  TestMachine m;
  const std::string folder = "sys/" + kPci + "/hwmon/hwmon4/";
  m.tree.write(folder + "name", "xe\n");
  m.tree.write(folder + "temp2_input", "50000\n");
  m.tree.write(folder + "temp3_input", "60000\n");
  m.tree.write(folder + "temp6_input", "70000\n");
  Hwmon hwmon = Hwmon::of_gpu(m.sys, card(Driver::xe, 0xe20b));
  CHECK(temperatures(hwmon) == Values{{"package", 50}, {"vram", 60}, {"temp6", 70}});
}

TEST_CASE("hwmon devices of a single GT, of other drivers and duplicate names are left out") {
  TestMachine m;
  const std::string base = "sys/" + kPci + "/hwmon/";
  m.tree.write(base + "hwmon2/name", "i915_gt0\n");
  m.tree.write(base + "hwmon2/energy1_input", "5\n");
  m.tree.write(base + "hwmon3/name", "nvme\n");
  m.tree.write(base + "hwmon3/temp1_input", "5000\n");
  CHECK_FALSE(Hwmon::of_gpu(m.sys, card(Driver::i915, 0x56a0)).found);
  m.tree.write(base + "hwmon4/name", "i915\n");
  m.tree.write(base + "hwmon4/temp1_input", "50000\n");
  m.tree.write(base + "hwmon4/temp2_input", "60000\n");
  Hwmon hwmon = Hwmon::of_gpu(m.sys, card(Driver::i915, 0x56a0));
  CHECK(hwmon.energies.empty());
  CHECK(temperatures(hwmon) == Values{{"package", 50}});
}

TEST_CASE("an impossible temperature is left out; slightly below zero is possible") {
  TestMachine m;
  m.tree.write("sys/t", "9223372036854775\n");
  Attribute attribute(m.sys, "t");
  const auto absurd = Hwmon::celsius(attribute);
  REQUIRE(absurd.is_absent());
  CHECK(absurd.absent().reason == Reason::hardware);
  m.tree.write("sys/t", "-12500\n");
  CHECK(Hwmon::celsius(attribute).value_or({}) == Celsius{-12.5});
}

TEST_CASE("a fan speed and a voltage below zero are left out") {
  TestMachine m;
  m.tree.write("sys/f", "-1\n");
  Attribute attribute(m.sys, "f");
  CHECK(Hwmon::rpm(attribute).is_absent());
  CHECK(Hwmon::volts(attribute).is_absent());
  m.tree.write("sys/f", "0\n");
  const auto stopped = Hwmon::rpm(attribute);
  REQUIRE((stopped && *stopped));
  CHECK(**stopped == Rpm{0});
}

TEST_CASE("a fan read by another process within the same millisecond has no speed, and that is no failure") {
  TestMachine m;
  m.tree.write("sys/fan1_input", "900\n");
  Attribute attribute(m.sys, "fan1_input");
  m.sys.fail_reading("fan1_input", EAGAIN);
  const auto none = Hwmon::rpm(attribute);
  REQUIRE(none);
  CHECK_FALSE(none->has_value());
  m.sys.heal();
  const auto some = Hwmon::rpm(attribute);
  REQUIRE((some && *some));
  CHECK(**some == Rpm{900});
  m.sys.fail_reading("fan1_input", EIO);
  CHECK(Hwmon::rpm(attribute).is_failure());
}

TEST_CASE("the CPU package's temperature is found by the driver's name and the label") {
  TestMachine m;
  m.tree.write("sys/class/hwmon/hwmon0/name", "nvme\n");
  m.tree.write("sys/class/hwmon/hwmon0/temp1_input", "41850\n");
  m.tree.write("sys/class/hwmon/hwmon2/name", "coretemp\n");
  m.tree.write("sys/class/hwmon/hwmon2/temp2_label", "Core 0\n");
  m.tree.write("sys/class/hwmon/hwmon2/temp2_input", "61000\n");
  m.tree.write("sys/class/hwmon/hwmon2/temp1_label", "Package id 0\n");
  m.tree.write("sys/class/hwmon/hwmon2/temp1_input", "63000\n");
  Hwmon hwmon = Hwmon::of_cpu_package(m.sys);
  CHECK(temperatures(hwmon) == Values{{"package", 63}});
  m.tree.remove("sys/class/hwmon/hwmon2");
  CHECK_FALSE(Hwmon::of_cpu_package(m.sys).found);
}

TEST_SUITE_END();
