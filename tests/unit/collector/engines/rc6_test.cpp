// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "collector/collectors.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("rc6");

using namespace igpu;
using namespace std::chrono_literals;
using igpu::test::CollectorRun;
using igpu::test::TestMachine;

namespace {

constexpr std::uint32_t kA380Pmu = 25, kMeteorLakePmu = 20;
constexpr std::uint64_t kRc6 = 0x100003, kAwake = 0x100004, kGt1 = std::uint64_t{1} << 60;
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr const char* kSeconds = "intel_gpu_rc6_residency_seconds_total";
constexpr const char* kRatio = "intel_gpu_rc6_residency_ratio";

Gpu only_gpu(TestMachine& m) {
  auto gpus = m.gpus();
  REQUIRE(gpus.size() == 1);
  return gpus.front();
}

std::string residency_file(const Gpu& gpu) {
  return "sys/" + gpu.pci_path +
         (gpu.driver == Driver::xe ? "/tile0/gt0/gtidle/idle_residency_ms"
                                   : "/drm/" + gpu.card + "/gt/gt0/rc6_residency_ms");
}

using Run = CollectorRun<rc6_collector>;

}  // namespace

TEST_CASE("i915 with PMU: nanoseconds in RC6, and the time the GPU was kept awake") {
  TestMachine m("a380-i915");
  m.perf.add_pmu(kA380Pmu);
  Run run(m, only_gpu(m));
  run.collect();
  CHECK(run.value(kSeconds, {{"device", "0000:0b:00.0"}, {"gt", "0"}}) == 0);
  CHECK(run.count(kRatio) == 0);
  m.perf.counter(kA380Pmu, kRc6) += 500 * kMillisecond;
  m.perf.counter(kA380Pmu, kAwake) += 1500 * kMillisecond;
  run.collect_after(2s);
  CHECK(run.value(kSeconds, {{"gt", "0"}}) == 0.5);
  CHECK(run.value(kRatio, {{"gt", "0"}}) == 0.25);
  CHECK(run.value("intel_gpu_awake_seconds_total", {{"gt", "0"}}) == 1.5);
  CHECK(run.available("rc6"));
  CHECK(run.available("awake_time"));
}

TEST_CASE("i915, Meteor Lake: residency of both GTs, awake time of the root GT only") {
  TestMachine m("meteorlake-i915-multigt");
  m.perf.add_pmu(kMeteorLakePmu);
  Run run(m, only_gpu(m));
  run.collect();
  m.perf.counter(kMeteorLakePmu, kRc6) += 200 * kMillisecond;
  m.perf.counter(kMeteorLakePmu, kRc6 | kGt1) += 900 * kMillisecond;
  m.perf.counter(kMeteorLakePmu, kAwake) += 800 * kMillisecond;
  m.perf.counter(kMeteorLakePmu, kAwake | kGt1) += 800 * kMillisecond;  // the kernel answers with GT 0's
  run.collect_after(1s);
  CHECK(run.value(kRatio, {{"gt", "0"}}) == 0.2);
  CHECK(run.value(kRatio, {{"gt", "1"}}) == 0.9);
  CHECK(run.count("intel_gpu_awake_seconds_total") == 1);
  CHECK(run.value("intel_gpu_awake_seconds_total", {{"gt", "0"}}) == 0.8);
}

TEST_CASE("a PMU that the driver registers after its files is found at the next scrape") {
  TestMachine m("a380-i915");
  m.perf.add_pmu(kA380Pmu);
  const std::string pmu = "sys/bus/event_source/devices/i915_0000_0b_00.0";
  m.tree.move(pmu, "sys/later");
  Run run(m, only_gpu(m));
  run.collect();
  CHECK(run.missing("awake_time") == Reason::kernel);
  m.tree.move("sys/later", pmu);
  run.collect();
  m.perf.counter(kA380Pmu, kAwake) += 1500 * kMillisecond;
  run.collect_after(2s);
  CHECK(run.value("intel_gpu_awake_seconds_total", {{"gt", "0"}}) == 1.5);
}

TEST_CASE("i915 without access to the PMU: milliseconds from sysfs") {
  TestMachine m("a380-i915");
  m.perf.add_pmu(kA380Pmu);
  m.perf.refuse_all(EACCES);
  const Gpu gpu = only_gpu(m);
  Run run(m, gpu);
  run.collect();
  CHECK(run.value(kSeconds) == 6.534);
  m.tree.write(residency_file(gpu), "7284\n");
  run.collect_after(3s);
  CHECK(run.value(kSeconds) == 7.284);
  CHECK(run.value(kRatio) == 0.25);
  CHECK(run.available("rc6"));
  CHECK(run.missing("awake_time") == Reason::permission);
  CHECK(run.failures() == 0);
  m.tree.write(residency_file(gpu), "18446744073709551615\n");  // more than there are nanoseconds for
  run.collect_after(3s);
  CHECK(run.count(kSeconds) == 0);
  CHECK(run.failures() == 1);
}

TEST_CASE("i915's file wraps at 32 bits after 49 days, the counter does not") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  m.tree.write(residency_file(gpu), "4294967000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(residency_file(gpu), "204\n");  // 500 ms on
  run.collect_after(1s);
  CHECK(run.value(kSeconds) == doctest::Approx(4294967.5));
  CHECK(run.count(kRatio) == 0);  // this one window
  m.tree.write(residency_file(gpu), "704\n");
  run.collect_after(1s);
  CHECK(run.value(kSeconds) == doctest::Approx(4294968.0));
  CHECK(run.value(kRatio) == 0.5);
}

TEST_CASE("a reset of the file costs one window's ratio and no count") {
  TestMachine m("b580-xe-many-temps");
  const Gpu gpu = only_gpu(m);
  const std::string file = residency_file(gpu);
  m.tree.write(file, "100000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(file, "200\n");
  run.collect_after(1s);
  CHECK(run.value(kSeconds, {{"gt", "0"}}) == 100);
  CHECK(run.count(kRatio, {{"gt", "0"}}) == 0);
  m.tree.write(file, "1100\n");
  run.collect_after(1s);
  CHECK(run.value(kSeconds, {{"gt", "0"}}) == doctest::Approx(100.9));
  CHECK(run.value(kRatio, {{"gt", "0"}}) == 0.9);
}

TEST_CASE("a file that reads lower once gives no ratio for it, and the next one is over both windows") {
  TestMachine m("b580-xe-many-temps");
  const Gpu gpu = only_gpu(m);
  const std::string file = residency_file(gpu);
  m.tree.write(file, "100000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(file, "90000\n");
  run.collect_after(1s);
  CHECK(run.value(kSeconds, {{"gt", "0"}}) == 100);
  CHECK(run.count(kRatio, {{"gt", "0"}}) == 0);
  m.tree.write(file, "101000\n");
  run.collect_after(1s);
  CHECK(run.value(kSeconds, {{"gt", "0"}}) == 101);
  CHECK(run.value(kRatio, {{"gt", "0"}}) == 0.5);
}

TEST_CASE("xe: from sysfs, never from the PMU, whose open events keep the GPU awake") {
  TestMachine m("b580-xe-many-temps");
  m.perf.add_pmu(30);
  Run run(m, only_gpu(m));
  run.collect();
  CHECK(run.value(kSeconds, {{"gt", "0"}}) == 469.727);
  CHECK(run.value(kSeconds, {{"gt", "1"}}) == 473.631);
  CHECK(m.perf.opens == 0);
  CHECK(run.missing("awake_time") == Reason::kernel);
}

TEST_CASE("a ratio never exceeds 1, although milliseconds are rounded") {
  TestMachine m("b580-xe-many-temps");
  const Gpu gpu = only_gpu(m);
  m.tree.write(residency_file(gpu), "1000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(residency_file(gpu), "2001\n");
  run.collect_after(1s);
  CHECK(run.value(kRatio, {{"gt", "0"}}) == 1);
}

TEST_CASE("no window includes time in which the GPU was suspended") {
  TestMachine m("b580-xe-many-temps");
  const Gpu gpu = only_gpu(m);
  m.tree.write(residency_file(gpu), "1000\n");
  Run run(m, gpu);
  run.collect();
  run.collector().gpu_is_suspended();
  m.tree.write(residency_file(gpu), "1500\n");
  run.collect_after(1h);
  CHECK(run.value(kSeconds, {{"gt", "0"}}) == 1.5);
  CHECK(run.count(kRatio, {{"gt", "0"}}) == 0);
  m.tree.write(residency_file(gpu), "2000\n");
  run.collect_after(1s);
  CHECK(run.value(kRatio, {{"gt", "0"}}) == 0.5);
}

TEST_CASE("after one PMU failure the source stays the PMU, and no time is lost") {
  TestMachine m("a380-i915");
  m.perf.add_pmu(kA380Pmu);
  Run run(m, only_gpu(m));
  run.collect();
  m.perf.counter(kA380Pmu, kRc6) += 400 * kMillisecond;
  run.collect_after(1s);
  m.perf.fail_reads(EIO);
  m.perf.counter(kA380Pmu, kRc6) += 400 * kMillisecond;
  run.collect_after(1s);
  CHECK(run.failures() > 0);
  CHECK(run.count(kSeconds) == 0);
  m.perf.fail_reads(0);
  m.perf.counter(kA380Pmu, kRc6) += 400 * kMillisecond;
  run.collect_after(1s);
  CHECK(run.failures() == 0);
  CHECK(run.value(kSeconds) == doctest::Approx(1.2));
  CHECK(run.value(kRatio) == doctest::Approx(0.4));
}

TEST_CASE("permission granted later changes the source; the counter continues") {
  TestMachine m("a380-i915");
  m.perf.add_pmu(kA380Pmu);
  m.perf.refuse_all(EACCES);
  Run run(m, only_gpu(m));
  run.collect();
  CHECK(run.value(kSeconds) == 6.534);
  m.perf.refuse_all(0);
  run.collect_after(1s);
  CHECK(run.value(kSeconds) == 6.534);
  CHECK(run.count(kRatio) == 0);
  m.perf.counter(kA380Pmu, kRc6) += 500 * kMillisecond;
  run.collect_after(1s);
  CHECK(run.value(kSeconds) == doctest::Approx(7.034));
  CHECK(run.value(kRatio) == 0.5);
}

TEST_CASE("more residency than elapsed time is a reset; after long enough it is a wrap") {
  TestMachine m("a380-i915");
  const Gpu gpu = only_gpu(m);
  m.tree.write(residency_file(gpu), "3000000000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(residency_file(gpu), "100\n");
  run.collect_after(1200ms);
  CHECK(run.value(kSeconds) == 3000000);
  CHECK(run.count(kRatio) == 0);
  m.tree.write(residency_file(gpu), "1100\n");
  run.collect_after(2s);
  CHECK(run.value(kSeconds) == 3000001);
  CHECK(run.value(kRatio) == 0.5);
  m.tree.write(residency_file(gpu), "5400000\n");  // the driver's own wrap of the register
  run.collect_after(2s);
  CHECK(run.value(kSeconds) == 3000001);
  CHECK(run.count(kRatio) == 0);
  m.tree.write(residency_file(gpu), "4294000000\n");
  run.collect_after(1200h);
  CHECK(run.value(kSeconds) == doctest::Approx(7288601));
  m.tree.write(residency_file(gpu), "2632704\n");
  run.collect_after(1h);
  CHECK(run.value(kSeconds) == doctest::Approx(7292201));
}

TEST_CASE("residency is read twice per shortest wrap of the hardware counter") {
  TestMachine m("a380-i915");
  Run run(m, only_gpu(m));
  run.collect();
  CHECK(run.collector().read_within() == 29min + 30s);
}

TEST_CASE("the counter continues after a rebind") {
  TestMachine m("b580-xe-many-temps");
  const Gpu gpu = only_gpu(m);
  m.tree.write(residency_file(gpu), "5000\n");
  Run run(m, gpu);
  run.collect();
  m.tree.write(residency_file(gpu), "10\n");
  run.bind();
  run.collect_after(1s);
  CHECK(run.value(kSeconds, {{"gt", "0"}}) == 5);
  m.tree.write(residency_file(gpu), "510\n");
  run.collect_after(1s);
  CHECK(run.value(kSeconds, {{"gt", "0"}}) == 5.5);
}

TEST_CASE("no event and no file: reason kernel; for a virtual function, hardware") {
  TestMachine m("cometlake-i915");
  m.tree.remove("sys/devices/i915/events/rc6-residency");
  m.perf.add_pmu(21);
  Gpu gpu = only_gpu(m);
  Run run(m, gpu);
  run.collect();
  CHECK(run.missing("rc6") == Reason::kernel);
  CHECK(run.failures() == 0);
  CHECK(run.count(kSeconds) == 0);

  gpu.driver = Driver::xe;
  gpu.virtual_function = true;
  Run function(m, gpu);
  function.collect();
  CHECK(function.missing("rc6") == Reason::hardware);
}

TEST_SUITE_END();
