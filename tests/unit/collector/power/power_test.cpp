// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>

#include "collector/collectors.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("power");

using namespace igpu;
using namespace std::chrono_literals;
using igpu::test::CollectorRun;
using igpu::test::TestMachine;

namespace {

constexpr const char* kJoules = "intel_gpu_energy_joules_total";
constexpr const char* kWatts = "intel_gpu_power_watts";
constexpr std::uint32_t kRaplPmu = 9;
constexpr std::uint64_t kCores = 1, kPackage = 2, kGpu = 4;  // configs of energy-cores, -pkg, -gpu
constexpr std::uint64_t kCountsPerJoule = std::uint64_t{1} << 32;

// A laptop's integrated GPU with the zones of powercap-client-psys.
Gpu laptop(TestMachine& m) {
  m.tree.lay_out("powercap-client-psys");
  Gpu gpu;
  gpu.address = "0000:00:02.0";
  gpu.pci_path = "devices/pci0000:00/0000:00:02.0";
  gpu.card = "card0";
  return gpu;
}

void add_rapl_pmu(TestMachine& m) {
  const std::string pmu = "sys/bus/event_source/devices/power/";
  m.tree.write(pmu + "type", "9\n");
  m.tree.write(pmu + "cpumask", "0\n");
  m.tree.write(pmu + "format/event", "config:0-7\n");
  for (const auto& [event, config] :
       {std::pair("energy-cores", "event=0x01\n"), std::pair("energy-pkg", "event=0x02\n"),
        std::pair("energy-gpu", "event=0x04\n")}) {
    m.tree.write(pmu + "events/" + event, config);
    m.tree.write(pmu + "events/" + event + ".unit", "Joules\n");
    m.tree.write(pmu + "events/" + event + ".scale", "2.3283064365386962890625e-10\n");
  }
  m.perf.add_pmu(kRaplPmu);
}

Gpu only_gpu(TestMachine& m) {
  auto gpus = m.gpus();
  REQUIRE(gpus.size() == 1);
  return gpus.front();
}

const std::string kZones = "sys/devices/virtual/powercap/intel-rapl/";
const std::string kPackageZone = kZones + "intel-rapl:0/energy_uj";

using Run = CollectorRun<power_collector>;

}  // namespace

TEST_CASE("integrated, with the power PMU: its domains, and powercap only for the domains it lacks") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  add_rapl_pmu(m);
  Run run(m, gpu);
  run.collect();
  m.perf.counter(kRaplPmu, kGpu) += 5 * kCountsPerJoule;
  m.perf.counter(kRaplPmu, kPackage) += 31 * kCountsPerJoule;
  m.perf.counter(kRaplPmu, kCores) += 8 * kCountsPerJoule;
  run.collect_after(2s);
  CHECK(run.value(kJoules, {{"device", "0000:00:02.0"}, {"domain", "gpu"}, {"source", "rapl_pmu"}}) ==
        doctest::Approx(5));
  CHECK(run.value(kWatts, {{"domain", "gpu"}}) == doctest::Approx(2.5));
  CHECK(run.value(kWatts, {{"domain", "package"}}) == doctest::Approx(15.5));
  CHECK(run.value(kWatts, {{"domain", "cores"}}) == doctest::Approx(4));
  CHECK(run.value(kJoules, {{"domain", "psys"}, {"source", "powercap"}}) == doctest::Approx(154571.208422));
  CHECK(run.count(kJoules) == 4);  // no domain twice
  CHECK(run.available("power"));
}

TEST_CASE("a virtual function of an integrated GPU does not report the package's energy again") {
  TestMachine m;
  Gpu gpu = laptop(m);
  add_rapl_pmu(m);
  gpu.virtual_function = true;
  Run run(m, gpu);
  run.collect();
  CHECK(run.count(kJoules) == 0);
  CHECK(run.missing("power") == Reason::hardware);
  CHECK(m.perf.opens == 0);
}

TEST_CASE("integrated, PMU not permitted: powercap, where root may read it") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  add_rapl_pmu(m);
  m.perf.refuse_all(EACCES);
  Run run(m, gpu);
  run.collect();
  CHECK(run.value(kJoules, {{"domain", "gpu"}, {"source", "powercap"}}) == doctest::Approx(23992.349269));
  m.tree.write(kZones + "intel-rapl:0/intel-rapl:0:1/energy_uj", "23998749269\n");
  run.collect_after(2s);
  CHECK(run.value(kWatts, {{"domain", "gpu"}, {"source", "powercap"}}) == doctest::Approx(3.2));
  CHECK(run.value(kWatts, {{"domain", "cores"}}) == 0);
  CHECK(run.available("power"));
  CHECK(run.failures() == 0);
}

TEST_CASE("integrated, neither permitted: absent, and the hint is access to perf, not root") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  add_rapl_pmu(m);
  m.sys.refuse_opening("energy_uj", EACCES);
  m.perf.refuse_all(EPERM);
  Run run(m, gpu);
  run.collect();
  CHECK(run.count(kJoules) == 0);
  REQUIRE(run.sink().features().size() == 1);
  CHECK(run.sink().features()[0].absent == Absent{Reason::permission, EPERM});
  CHECK(run.sink().features()[0].feature->need == Need::rapl_pmu);
  CHECK(run.failures() == 0);
}

TEST_CASE("integrated, no PMU in the kernel and files readable by root only: the hint is root") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  m.sys.refuse_opening("energy_uj", EACCES);
  Run run(m, gpu);
  run.collect();
  REQUIRE(run.sink().features().size() == 1);
  CHECK(run.sink().features()[0].absent == Absent{Reason::permission, EACCES});
  CHECK(run.sink().features()[0].feature->need == Need::powercap_file);
}

TEST_CASE("a card without hwmon, or without permission for its energy file, does not get the perf hint") {
  TestMachine m("a380-i915");
  const std::vector<Gpu> gpus = m.gpus();
  const auto card =
      std::find_if(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.kind == GpuKind::discrete; });
  REQUIRE(card != gpus.end());
  Gpu bare = *card;
  bare.pci_path = "devices/pci0000:00/0000:00:1f.0";
  Run none(m, bare);
  none.collect();
  REQUIRE(none.sink().features().size() == 1);
  CHECK(none.sink().features()[0].absent.reason == Reason::kernel);
  CHECK(none.sink().features()[0].feature->need == Need::card_hwmon);

  m.sys.refuse_opening("energy1_input", EACCES);
  Run refused(m, *card);
  refused.collect();
  REQUIRE(refused.sink().features().size() == 1);
  CHECK(refused.sink().features()[0].absent == Absent{Reason::permission, EACCES});
  CHECK(refused.sink().features()[0].feature->need == Need::card_hwmon);
}

TEST_CASE("a machine without RAPL has no power") {
  TestMachine m;
  Gpu gpu;
  gpu.address = "0000:00:02.0";
  gpu.pci_path = "devices/pci0000:00/0000:00:02.0";
  Run run(m, gpu);
  run.collect();
  CHECK(run.count(kJoules) == 0);
  CHECK(run.missing("power") == Reason::kernel);
}

TEST_CASE("powercap's counter wraps at its range: no joule is lost or invented") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  m.tree.write(kPackageZone, "262143000000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(kPackageZone, "29671150\n");  // 328,850 uJ to the end, 29,671,150 after it
  run.collect_after(2s);
  CHECK(run.value(kJoules, {{"domain", "package"}}) == doctest::Approx(262173.0));
  CHECK(run.value(kWatts, {{"domain", "package"}}) == doctest::Approx(15.0));
}

TEST_CASE("a step back to near zero that is not a wrap costs one window of power; the counter never decreases") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  m.tree.write(kPackageZone, "9000000000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(kPackageZone, "400000000\n");
  run.collect_after(1s);
  CHECK(run.value(kJoules, {{"domain", "package"}}) == 9000);
  CHECK(run.count(kWatts, {{"domain", "package"}}) == 0);
  m.tree.write(kPackageZone, "420000000\n");
  run.collect_after(1s);
  CHECK(run.value(kJoules, {{"domain", "package"}}) == 9020);
  CHECK(run.value(kWatts, {{"domain", "package"}}) == 20);
}

TEST_CASE("while a count is lower than it was there is no power; its energy counts once when it is back") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  m.tree.write(kPackageZone, "9000000000\n");
  Run run(m, gpu);
  run.collect();
  for (const char* const held : {"8500000000\n", "8520000000\n"}) {
    m.tree.write(kPackageZone, held);
    run.collect_after(1s);
    CHECK(run.value(kJoules, {{"domain", "package"}}) == 9000);
    CHECK(run.count(kWatts, {{"domain", "package"}}) == 0);
  }
  m.tree.write(kPackageZone, "9060000000\n");
  run.collect_after(1s);
  CHECK(run.value(kJoules, {{"domain", "package"}}) == 9060);
  CHECK(run.value(kWatts, {{"domain", "package"}}) == 20);
}

TEST_CASE("a single reading of 0 loses no energy and makes up no power") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  m.tree.write(kPackageZone, "9000000000\n");
  Run run(m, gpu);
  run.collect();
  for (const auto& [text, joules] : {std::pair("0\n", 9000), std::pair("9040000000\n", 9040)}) {
    m.tree.write(kPackageZone, text);
    run.collect_after(1s);
    CHECK(run.value(kJoules, {{"domain", "package"}}) == joules);
    CHECK(run.count(kWatts, {{"domain", "package"}}) == 0);
  }
  m.tree.write(kPackageZone, "9060000000\n");
  run.collect_after(1s);
  CHECK(run.value(kWatts, {{"domain", "package"}}) == 20);
}

TEST_CASE("packages are summed; if one cannot be read, there is no sum") {
  TestMachine m;
  m.tree.lay_out("powercap-95w-package-core");
  Gpu gpu;
  gpu.address = "0000:00:02.0";
  gpu.pci_path = "devices/pci0000:00/0000:00:02.0";
  Run run(m, gpu);
  run.collect();
  CHECK(run.value(kJoules, {{"domain", "package"}}) == doctest::Approx(2 * 240422.366267));
  m.sys.fail_reading("intel-rapl:a/energy_uj", EIO);
  run.collect();
  CHECK(run.failures() == 1);
  CHECK(run.count(kJoules, {{"domain", "package"}}) == 0);
  CHECK(run.count(kJoules, {{"domain", "cores"}}) == 1);
  m.sys.heal();
  run.collect();
  CHECK(run.value(kJoules, {{"domain", "package"}}) == doctest::Approx(2 * 240422.366267));
}

TEST_CASE("a power PMU that fails once is not replaced by another source's count of the same joules") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  add_rapl_pmu(m);
  Run run(m, gpu);
  run.collect();
  m.perf.fail_reads(EIO);
  run.collect_after(1s);
  CHECK(run.failures() > 0);
  CHECK(run.count(kJoules, {{"domain", "gpu"}}) == 0);
  CHECK(run.count(kJoules, {{"domain", "psys"}}) == 1);
  m.perf.fail_reads(0);
  m.perf.counter(kRaplPmu, kGpu) += 7 * kCountsPerJoule;
  run.collect_after(1s);
  CHECK(run.value(kJoules, {{"domain", "gpu"}}) == doctest::Approx(7));
}

TEST_CASE("an i915 card: its one energy counter is the package's; RAPL is not the card's") {
  TestMachine m("a380-i915");
  m.tree.lay_out("powercap-client-psys");
  add_rapl_pmu(m);
  const Gpu gpu = only_gpu(m);
  Run run(m, gpu);
  run.collect();
  CHECK(run.value(kJoules, {{"domain", "package"}, {"source", "hwmon"}}) == doctest::Approx(25637.161804));
  CHECK(run.count(kJoules) == 1);
  CHECK(m.perf.opens == 0);
  m.tree.write("sys/" + gpu.pci_path + "/hwmon/hwmon1/energy1_input", "25727161804\n");
  run.collect_after(2s);
  CHECK(run.value(kWatts, {{"domain", "package"}, {"source", "hwmon"}}) == doctest::Approx(45));
}

TEST_CASE("an xe card reports card and package separately") {
  TestMachine m("b580-xe-loaded-throttled");
  Run run(m, only_gpu(m));
  run.collect();
  CHECK(run.value(kJoules, {{"domain", "card"}, {"source", "hwmon"}}) == doctest::Approx(435636.21173));
  CHECK(run.value(kJoules, {{"domain", "package"}, {"source", "hwmon"}}) == doctest::Approx(169459.465148));
}

TEST_CASE("Battlemage on Linux 6.14: card energy that never counted is not shown as 0 W, until it counts") {
  TestMachine m("b580-xe-k6.14");
  const Gpu gpu = only_gpu(m);
  Run run(m, gpu);
  run.collect();
  run.collect_after(1s);
  CHECK(run.count(kJoules) == 1);
  CHECK(run.count(kJoules, {{"domain", "package"}}) == 1);
  CHECK(run.count(kWatts, {{"domain", "card"}}) == 0);
  m.tree.write("sys/" + gpu.pci_path + "/hwmon/hwmon3/energy1_input", "60000000\n");
  run.collect_after(1s);
  CHECK(run.value(kJoules, {{"domain", "card"}}) == 60);
  CHECK(run.value(kWatts, {{"domain", "card"}}) == 60);
}

TEST_CASE("a card whose counters all stay at 0 has no power") {
  TestMachine m("b580-xe-k6.14");
  const Gpu gpu = only_gpu(m);
  m.tree.write("sys/" + gpu.pci_path + "/hwmon/hwmon3/energy2_input", "0\n");
  Run run(m, gpu);
  run.collect();
  run.collect_after(1s);
  CHECK(run.count(kJoules) == 0);
  CHECK(run.missing("power") == Reason::hardware);
}

TEST_CASE("hwmon energy recovers after a failure or missing data; a reset loses no count") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  const std::string file = "sys/" + gpu.pci_path + "/hwmon/hwmon1/energy1_input";
  m.tree.write(file, "1000000000\n");
  Run run(m, gpu);
  run.collect();
  m.sys.fail_reading("energy1_input", EIO);
  run.collect_after(1s);
  CHECK(run.failures() == 1);
  CHECK(run.count(kJoules) == 0);
  m.sys.heal();
  m.sys.fail_reading("energy1_input", ENODATA);
  run.collect_after(1s);
  CHECK(run.failures() == 0);
  CHECK(run.count(kJoules) == 0);
  m.sys.heal();
  m.tree.write(file, "1300000000\n");
  run.collect_after(1s);
  CHECK(run.value(kJoules) == 1300);
  CHECK(run.value(kWatts) == 100);  // over the three seconds

  m.tree.write(file, "0\n");  // rebound, as seen by the old collector
  run.collect_after(1s);
  CHECK(run.value(kJoules) == 1300);
  m.tree.write(file, "50000000\n");
  run.collect_after(1s);
  CHECK(run.value(kJoules) == 1350);
  CHECK(run.value(kWatts) == 50);
}

TEST_CASE("hwmon: a counter that reads 500 J lower once gives no energy and no power for it") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  const std::string file = "sys/" + gpu.pci_path + "/hwmon/hwmon1/energy1_input";
  m.tree.write(file, "900000000000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(file, "899500000000\n");
  run.collect_after(1s);
  CHECK(run.value(kJoules) == 900000);
  CHECK(run.count(kWatts) == 0);
  m.tree.write(file, "900120000000\n");
  run.collect_after(1s);
  CHECK(run.value(kJoules) == 900120);
  CHECK(run.value(kWatts) == 60);  // over both seconds
}

TEST_CASE("powercap: energy that no processor can have used is a reset; after long enough it is a wrap") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  m.tree.write(kPackageZone, "200000000000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(kPackageZone, "100000\n");
  run.collect_after(1200ms);
  CHECK(run.value(kJoules, {{"domain", "package"}}) == 200000);
  CHECK(run.count(kWatts, {{"domain", "package"}}) == 0);
  m.tree.write(kPackageZone, "262000000000\n");  // 43 minutes at 101 W
  run.collect_after(43min);
  CHECK(run.value(kJoules, {{"domain", "package"}}) == doctest::Approx(461999.9));
  m.tree.write(kPackageZone, "250000000000\n");  // almost a full wrap: 250,143 J in 43 minutes
  run.collect_after(43min);
  CHECK(run.value(kJoules, {{"domain", "package"}}) == doctest::Approx(712143.2));
  CHECK(run.value(kWatts, {{"domain", "package"}}) == doctest::Approx(96.96).epsilon(0.001));
}

TEST_CASE("hwmon: a wrap that the driver assumes at a register reset is not counted") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  const std::string file = "sys/" + gpu.pci_path + "/hwmon/hwmon1/energy1_input";
  m.tree.write(file, "1000000000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(file, "263000000000\n");
  run.collect_after(15s);
  CHECK(run.value(kJoules) == 1000);
  CHECK(run.count(kWatts) == 0);
  m.tree.write(file, "263060000000\n");
  run.collect_after(1s);
  CHECK(run.value(kJoules) == 1060);
  CHECK(run.value(kWatts) == 60);
}

TEST_CASE("the first value of a card that did not count is taken in full, however late it comes") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  const std::string file = "sys/" + gpu.pci_path + "/hwmon/hwmon1/energy1_input";
  m.tree.write(file, "0\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(file, "400000000000\n");
  run.collect_after(1s);
  CHECK(run.value(kJoules) == 400000);
  CHECK(run.count(kWatts) == 0);
}

TEST_CASE(
    "a domain of the power PMU that never counts is not shown as 0 W, nor as another source's; once it counts it is") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  add_rapl_pmu(m);
  Run run(m, gpu);
  run.collect();
  CHECK(run.count(kJoules, {{"source", "rapl_pmu"}}) == 0);
  m.perf.counter(kRaplPmu, kPackage) += 10 * kCountsPerJoule;
  run.collect_after(2s);
  CHECK(run.value(kWatts, {{"domain", "package"}}) == 5);
  CHECK(run.count(kJoules, {{"domain", "gpu"}}) == 0);
  CHECK(run.count(kWatts, {{"domain", "gpu"}}) == 0);
  CHECK(run.available("power"));
  m.perf.counter(kRaplPmu, kGpu) += 4 * kCountsPerJoule;
  run.collect_after(2s);
  CHECK(run.value(kJoules, {{"domain", "gpu"}}) == 4);
  CHECK(run.value(kWatts, {{"domain", "gpu"}}) == 2);
  run.collect_after(2s);
  CHECK(run.value(kWatts, {{"domain", "gpu"}}) == 0);
}

TEST_CASE("a power PMU none of whose domains counts is treated as missing") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  add_rapl_pmu(m);
  m.tree.remove(kZones + "intel-rapl:1");
  Run run(m, gpu);
  run.collect();
  run.collect_after(2s);
  CHECK(run.count(kJoules) == 0);
  CHECK(run.count(kWatts) == 0);
  CHECK(run.missing("power") == Reason::hardware);
  CHECK(run.failures() == 0);
}

TEST_CASE("power PMU: a jump by a whole register within a second is not energy") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  add_rapl_pmu(m);
  Run run(m, gpu);
  run.collect();
  m.perf.counter(kRaplPmu, kPackage) += 10 * kCountsPerJoule;
  run.collect_after(1s);
  m.perf.counter(kRaplPmu, kPackage) += 262000 * kCountsPerJoule;
  run.collect_after(1s);
  CHECK(run.value(kJoules, {{"domain", "package"}}) == 10);
  CHECK(run.count(kWatts, {{"domain", "package"}}) == 0);
  m.perf.counter(kRaplPmu, kPackage) += 10 * kCountsPerJoule;
  run.collect_after(1s);
  CHECK(run.value(kJoules, {{"domain", "package"}}) == 20);
  CHECK(run.value(kWatts, {{"domain", "package"}}) == 10);
}

TEST_CASE("a card is read twice per wrap of its energy counter at its highest stated power") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  m.tree.write("sys/" + gpu.pci_path + "/hwmon/hwmon1/power1_crit", "1000000000\n");
  Run run(m, gpu);
  run.collect();
  CHECK(run.collector().read_within() == 131072ms);
}

TEST_CASE("powercap is read twice per wrap; for PMU domains the kernel does it") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  m.tree.remove(kZones + "intel-rapl:1");  // psys, which the PMU below does not have
  add_rapl_pmu(m);
  Run with_pmu(m, gpu);
  with_pmu.collect();
  CHECK(with_pmu.collector().read_within() > 24h);
  m.perf.refuse_all(EACCES);
  Run with_files(m, gpu);
  with_files.collect();
  CHECK(with_files.collector().read_within() < 132s);
  CHECK(with_files.collector().read_within() > 130s);
}

TEST_CASE("counters continue after a rebind") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  const std::string file = "sys/" + gpu.pci_path + "/hwmon/hwmon1/energy1_input";
  m.tree.write(file, "1000000000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(file, "20000000\n");
  run.bind();
  run.collect_after(1s);
  CHECK(run.value(kJoules) == 1000);
  m.tree.write(file, "30000000\n");
  run.collect_after(1s);
  CHECK(run.value(kJoules) == 1010);
}

TEST_CASE("a powercap zone that goes away and comes back is read again, and what was used meanwhile counts") {
  TestMachine m;
  const Gpu gpu = laptop(m);
  Run run(m, gpu);
  const auto package = [&] { return run.value(kJoules, {{"domain", "package"}}); };
  m.tree.write(kPackageZone, "1000000000\n");
  run.collect();
  CHECK(package() == 1000);
  m.tree.remove(kPackageZone);
  m.sys.fail_reading("intel-rapl:0/energy_uj", ENODEV);  // by the descriptor that is open
  run.collect_after(1s);
  run.collect_after(1s);
  CHECK(run.count(kJoules, {{"domain", "package"}}) == 0);
  CHECK(run.failures() == 0);
  m.sys.heal();
  m.tree.write(kPackageZone, "1030000000\n");
  run.collect_after(1s);
  CHECK(package() == 1030);
  CHECK(run.value(kWatts, {{"domain", "package"}}) == 10);  // over the three seconds
}

TEST_SUITE_END();

TEST_CASE("energy whose label cannot be read is nobody's, not the package's") {
  TestMachine m("b580-xe-loaded-throttled");
  m.sys.fail_reading("energy1_label", EIO);
  m.sys.fail_reading("power1_label", EIO);
  Run run(m, only_gpu(m));
  for (int scrape = 0; scrape < 3; ++scrape) run.collect();
  CHECK(run.count(kJoules) == 1);
  CHECK(run.value(kJoules, {{"domain", "package"}, {"source", "hwmon"}}) == doctest::Approx(169459.465148));
  CHECK(run.failures() == 1);
  m.sys.heal();
  run.collect();
  CHECK(run.value(kJoules, {{"domain", "card"}, {"source", "hwmon"}}) == doctest::Approx(435636.21173));
  CHECK(run.failures() == 0);
}
