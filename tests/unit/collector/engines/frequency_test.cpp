// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "collector/collectors.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("frequency");

using namespace igpu;
using namespace std::chrono_literals;
using igpu::test::CollectorRun;
using igpu::test::TestMachine;

namespace {

constexpr std::uint32_t kA380Pmu = 25;  // its type file
constexpr std::uint64_t kActual = 0x100000, kRequested = 0x100001, kGt1 = std::uint64_t{1} << 60;

Gpu only_gpu(TestMachine& m) {
  auto gpus = m.gpus();
  REQUIRE(gpus.size() == 1);
  return gpus.front();
}

using Run = CollectorRun<frequency_collector>;

}  // namespace

TEST_CASE("i915: current frequency, limits and throttle reasons from sysfs, the mean from the PMU") {
  TestMachine m("a380-i915");
  m.perf.add_pmu(kA380Pmu);
  Run run(m, only_gpu(m));
  run.collect();
  CHECK(run.value("intel_gpu_frequency_hertz", {{"device", "0000:0b:00.0"}, {"gt", "0"}, {"kind", "actual"}}) == 600e6);
  CHECK(run.value("intel_gpu_frequency_hertz", {{"gt", "0"}, {"kind", "requested"}}) == 600e6);
  CHECK(run.value("intel_gpu_frequency_limit_hertz", {{"limit", "boost"}}) == 2450e6);
  CHECK(run.count("intel_gpu_frequency_limit_hertz") == 6);
  CHECK(run.value("intel_gpu_throttled", {{"reason", "any"}}) == 0);
  CHECK(run.count("intel_gpu_throttled") == 9);
  CHECK(run.value("intel_gpu_frequency_cycles_total", {{"kind", "actual"}}) == 0);
  CHECK(run.count("intel_gpu_frequency_average_hertz") == 0);  // the first reading has no window yet
  for (const char* feature : {"frequency", "frequency_average", "throttle_reasons"}) CHECK(run.available(feature));

  // two seconds at 1200 MHz, asked for 1300: the events count MHz x seconds
  m.perf.counter(kA380Pmu, kActual) += 2400;
  m.perf.counter(kA380Pmu, kRequested) += 2600;
  run.collect_after(2s);
  CHECK(run.value("intel_gpu_frequency_average_hertz", {{"gt", "0"}, {"kind", "actual"}}) == 1200e6);
  CHECK(run.value("intel_gpu_frequency_average_hertz", {{"gt", "0"}, {"kind", "requested"}}) == 1300e6);
  CHECK(run.value("intel_gpu_frequency_cycles_total", {{"kind", "actual"}}) == 2400e6);
}

TEST_CASE("a second scraper soon after the first still sees a full window") {
  TestMachine m("a380-i915");
  m.perf.add_pmu(kA380Pmu);
  Run run(m, only_gpu(m));
  run.collect();
  m.perf.counter(kA380Pmu, kActual) += 2000;
  run.collect_after(2s);
  m.perf.counter(kA380Pmu, kActual) += 100;
  run.collect_after(100ms);
  CHECK(run.value("intel_gpu_frequency_average_hertz", {{"kind", "actual"}}) == doctest::Approx(1000e6));
}

TEST_CASE("i915, Meteor Lake: each GT has its own event") {
  TestMachine m("meteorlake-i915-multigt");
  m.perf.add_pmu(20);
  Run run(m, only_gpu(m));
  run.collect();
  m.perf.counter(20, kActual) += 500;
  m.perf.counter(20, kActual | kGt1) += 900;
  run.collect_after(1s);
  CHECK(run.value("intel_gpu_frequency_average_hertz", {{"gt", "0"}, {"kind", "actual"}}) == 500e6);
  CHECK(run.value("intel_gpu_frequency_average_hertz", {{"gt", "1"}, {"kind", "actual"}}) == 900e6);
  CHECK(run.value("intel_gpu_frequency_hertz", {{"gt", "1"}, {"kind", "requested"}}) == 400e6);
}

TEST_CASE("xe: sysfs only, since its frequency events are not counters") {
  TestMachine m("b580-xe-loaded-throttled");
  m.perf.add_pmu(29);
  Run run(m, only_gpu(m));
  run.collect();
  run.collect_after(2s);
  CHECK(run.value("intel_gpu_frequency_hertz", {{"gt", "0"}, {"kind", "actual"}}) == 2733e6);
  CHECK(run.value("intel_gpu_throttled", {{"gt", "0"}, {"reason", "pl2"}}) == 1);
  CHECK(run.value("intel_gpu_throttled", {{"gt", "0"}, {"reason", "any"}}) == 1);
  CHECK(run.value("intel_gpu_throttled", {{"gt", "1"}, {"reason", "any"}}) == 0);
  CHECK(run.count("intel_gpu_frequency_cycles_total") == 0);
  CHECK(m.perf.opens == 0);
  CHECK(run.missing("frequency_average") == Reason::kernel);
}

TEST_CASE("without the sampled events no timer is started in the driver, and everything else stays") {
  TestMachine m("a380-i915");
  m.perf.add_pmu(kA380Pmu);
  Run run(m, only_gpu(m));
  run.options["collector.engines.sampled-events"] = {"off"};
  run.bind();
  run.collect();
  CHECK(m.perf.opens == 0);
  CHECK(run.missing("frequency_average") == Reason::disabled);
  CHECK(run.available("frequency"));
}

TEST_CASE("PMU not permitted, missing, or without the event: the mean is absent with that reason") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  m.perf.add_pmu(kA380Pmu);
  m.perf.refuse_all(EACCES);
  Run run(m, gpu);
  run.collect();
  CHECK(run.missing("frequency_average") == Reason::permission);
  CHECK(run.available("frequency"));
  CHECK(run.failures() == 0);
  m.perf.refuse_all(0);
  run.collect();
  CHECK(run.available("frequency_average"));

  m.perf.refuse(kA380Pmu, kActual, ENODEV);
  Run partly(m, gpu);
  partly.collect();
  CHECK(partly.count("intel_gpu_frequency_cycles_total", {{"kind", "actual"}}) == 0);
  CHECK(partly.count("intel_gpu_frequency_cycles_total", {{"kind", "requested"}}) == 1);

  m.tree.remove("sys/bus/event_source/devices/i915_0000_0b_00.0");
  Run without(m, gpu);
  without.collect();
  CHECK(without.missing("frequency_average") == Reason::kernel);
}

TEST_CASE("a PMU that the driver registers after its files is found at the next scrape") {
  TestMachine m("a380-i915");
  m.perf.add_pmu(kA380Pmu);
  const std::string pmu = "sys/bus/event_source/devices/i915_0000_0b_00.0";
  m.tree.move(pmu, "sys/later");
  Run run(m, only_gpu(m));
  run.collect();
  CHECK(run.missing("frequency_average") == Reason::kernel);
  m.tree.move("sys/later", pmu);
  run.collect();
  CHECK(run.available("frequency_average"));
}

TEST_CASE("a failed file is a failure and costs only its own series in that scrape") {
  TestMachine m("a380-i915");
  Run run(m, only_gpu(m));
  run.collect();
  for (const int error : {EIO, ENODATA}) {
    m.sys.fail_reading("rps_act_freq_mhz", error);
    run.collect();
    CHECK(run.failures() == 1);
    CHECK(run.count("intel_gpu_frequency_hertz", {{"kind", "actual"}}) == 0);
    CHECK(run.count("intel_gpu_frequency_hertz", {{"kind", "requested"}}) == 1);
    CHECK(run.count("intel_gpu_frequency_limit_hertz") == 6);
    m.sys.heal();
    run.collect();
    CHECK(run.failures() == 0);
    CHECK(run.value("intel_gpu_frequency_hertz", {{"kind", "actual"}}) == 600e6);
  }
}

TEST_CASE("one failed PMU read leaves a gap, and no counter decreases") {
  TestMachine m("a380-i915");
  m.perf.add_pmu(kA380Pmu);
  Run run(m, only_gpu(m));
  run.collect();
  m.perf.counter(kA380Pmu, kActual) += 1000;
  run.collect_after(1s);
  m.perf.fail_reads(EIO);
  run.collect_after(1s);
  CHECK(run.failures() > 0);
  CHECK(run.count("intel_gpu_frequency_cycles_total") == 0);
  CHECK(run.count("intel_gpu_frequency_average_hertz") == 0);
  m.perf.fail_reads(0);
  m.perf.counter(kA380Pmu, kActual) += 1000;
  run.collect_after(1s);
  CHECK(run.failures() == 0);
  CHECK(run.value("intel_gpu_frequency_cycles_total", {{"kind", "actual"}}) >= 1000e6);
}

TEST_CASE("files created after the DRM node are found at the second scrape") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  const std::string gt = "sys/" + gpu.pci_path + "/drm/card1/gt";
  m.tree.move(gt, "sys/not-yet");
  m.tree.move("sys/" + gpu.pci_path + "/drm/card1/gt_act_freq_mhz", "sys/nor-this");
  Run run(m, gpu);
  run.collect();
  CHECK(run.count("intel_gpu_throttled") == 0);
  m.tree.move("sys/not-yet", gt);
  run.collect();
  CHECK(run.count("intel_gpu_throttled") == 9);
  CHECK(run.value("intel_gpu_frequency_hertz", {{"kind", "actual"}}) == 600e6);
}

TEST_CASE("files are opened once and read once per scrape") {
  TestMachine m("a380-i915");
  m.perf.add_pmu(kA380Pmu);
  Run run(m, only_gpu(m));
  run.collect();
  run.collect();
  const int opens = m.sys.opens(), reads = m.sys.reads();
  run.collect();
  CHECK(m.sys.opens() == opens);
  CHECK(m.sys.reads() - reads == 2 + 6 + 9 + 1);  // and the PMU's type
}

TEST_SUITE_END();
