// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "collector/collectors.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* kMetric = "intel_gpu_memory_bandwidth_bytes_total";
constexpr const char* kFeature = "memory_bandwidth";

Gpu gpu(GpuKind kind) {
  Gpu it;
  it.address = "0000:00:02.0";
  it.kind = kind;
  return it;
}

void add_box(TestMachine& m, const std::string& name, std::uint32_t type) {
  const std::string pmu = "sys/bus/event_source/devices/" + name + "/";
  m.tree.write(pmu + "type", std::to_string(type) + "\n");
  m.tree.write(pmu + "cpumask", "0\n");
  m.tree.write(pmu + "format/event", "config:0-7\n");
  m.tree.write(pmu + "format/umask", "config:8-15\n");
  for (const auto& [event, umask] :
       {std::pair("data_read", "0x20"), std::pair("data_write", "0x30"), std::pair("data_total", "0x10")}) {
    m.tree.write(pmu + "events/" + event, std::string("event=0xff,umask=") + umask + "\n");
    m.tree.write(pmu + "events/" + event + ".scale", "6.103515625e-5\n");
    m.tree.write(pmu + "events/" + event + ".unit", "MiB\n");
  }
  m.perf.add_pmu(type);
}

struct TwoBoxes {
  TestMachine m;
  TwoBoxes() {
    add_box(m, "uncore_imc_free_running_0", 41);
    add_box(m, "uncore_imc_free_running_1", 42);
  }
};

}  // namespace

TEST_SUITE_BEGIN("imc");

TEST_CASE("one count is a cache line; controllers are summed") {
  TwoBoxes t;
  CollectorRun<imc_collector> imc(t.m, gpu(GpuKind::integrated));
  imc.collect();
  CHECK(imc.missing(kFeature) == Reason::hardware);  // so far nothing counts
  CHECK(imc.count(kMetric) == 0);
  t.m.perf.counter(41, 0x20ff) += 1'000'000;
  t.m.perf.counter(42, 0x20ff) += 500'000;
  t.m.perf.counter(42, 0x30ff) += 10;
  imc.collect_after(1s);
  CHECK(*imc.value(kMetric, {{"device", "0000:00:02.0"}, {"direction", "read"}}) == doctest::Approx(1'500'000 * 64.0));
  CHECK(*imc.value(kMetric, {{"direction", "write"}}) == doctest::Approx(640.0));
  CHECK(imc.count(kMetric) == 2);
}

TEST_CASE("a card has its own memory: the processor's traffic is not reported for it") {
  TwoBoxes t;
  CollectorRun<imc_collector> imc(t.m, gpu(GpuKind::discrete));
  imc.collect();
  CHECK(imc.missing(kFeature) == Reason::hardware);
  CHECK(imc.count(kMetric) == 0);
  CHECK(t.m.perf.opens == 0);
}

TEST_CASE("virtual functions of an integrated GPU do not report it again") {
  TwoBoxes t;
  Gpu vf = gpu(GpuKind::integrated);
  vf.virtual_function = true;
  CollectorRun<imc_collector> imc(t.m, vf);
  imc.collect();
  CHECK(imc.missing(kFeature) == Reason::hardware);
  CHECK(t.m.perf.opens == 0);
}

TEST_CASE("without permission there is no series, and the reason is reported") {
  TwoBoxes t;
  t.m.perf.refuse_all(EACCES);
  CollectorRun<imc_collector> imc(t.m, gpu(GpuKind::integrated));
  imc.collect();
  CHECK(imc.missing(kFeature) == Reason::permission);
  CHECK(imc.count(kMetric) == 0);
  CHECK(imc.failures() == 0);
}

TEST_CASE("a kernel without the PMUs; a module that is loaded later is found") {
  TestMachine m;
  CollectorRun<imc_collector> imc(m, gpu(GpuKind::integrated));
  imc.collect();
  CHECK(imc.missing(kFeature) == Reason::kernel);
  add_box(m, "uncore_imc_free_running_0", 41);
  imc.collect();
  m.perf.counter(41, 0x20ff) += 1'000;
  imc.collect_after(1s);
  CHECK(imc.available(kFeature));
  CHECK(imc.count(kMetric) == 1);  // reads; writes do not count
}

TEST_CASE("a missing controller is left out; one that disappears makes the sum unknown, not smaller") {
  TwoBoxes t;
  t.m.perf.refuse(42, 0x20ff, EINVAL);
  CollectorRun<imc_collector> imc(t.m, gpu(GpuKind::integrated));
  imc.collect();
  t.m.perf.counter(41, 0x20ff) += 1'000;
  imc.collect_after(1s);
  CHECK(*imc.value(kMetric, {{"direction", "read"}}) == doctest::Approx(64'000.0));

  t.m.perf.fail_reads(EIO);
  imc.collect_after(1s);
  CHECK(imc.count(kMetric) == 0);
  CHECK(imc.failures() == 1);
  t.m.perf.fail_reads(0);
  imc.collect_after(1s);
  CHECK(*imc.value(kMetric, {{"direction", "read"}}) == doctest::Approx(64'000.0));
}
