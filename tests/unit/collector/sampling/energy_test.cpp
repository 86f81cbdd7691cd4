// SPDX-License-Identifier: Apache-2.0
// The power that the sampler reads is that of the collector's sources, by the collector's rules.
#include <doctest/doctest.h>

#include <cerrno>
#include <cmath>
#include <memory>
#include <string>

#include "collector/sampling/gpu_reader.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::sampling;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kRaplPmu = 9;
// configs of energy-pkg, -ram, -gpu and -psys
constexpr std::uint64_t kPackage = 2, kMemory = 3, kGpu = 4, kPlatform = 5;
constexpr std::uint64_t kCountsPerJoule = std::uint64_t{1} << 32;
constexpr std::uint64_t kRange = 262'143'328'850;  // of the zones, microjoules

struct AwakeIntegrated final : GpuAccess {
  PowerStatus power_status() override { return {false, Absent{}}; }
  bool pmu_is_open() const override { return false; }
  Absent pmu_closed_because() const override { return {Reason::suspended}; }
  bool gone() const override { return false; }
};

Gpu integrated_gpu() {
  Gpu gpu;
  gpu.address = "0000:00:02.0";
  gpu.pci_path = "devices/pci0000:00/0000:00:02.0";
  gpu.card = "card0";
  return gpu;
}

// A laptop whose GPU draws 1 W, its package 20 W and the platform 40 W: as zones of powercap, and the first two as
// events of the `power` PMU, too.
class SampledLaptop {
 public:
  explicit SampledLaptop(bool has_pmu) {
    m.tree.lay_out("powercap-client-psys");
    if (!has_pmu) return;
    const std::string power = "sys/bus/event_source/devices/power/";
    m.tree.write(power + "type", "9\n");
    m.tree.write(power + "cpumask", "0\n");
    m.tree.write(power + "format/event", "config:0-7\n");
    m.tree.write(power + "events/energy-pkg", "event=0x02\n");
    m.tree.write(power + "events/energy-gpu", "event=0x04\n");
    m.perf.add_pmu(kRaplPmu);
  }

  // All that RAPL can have: also memory, which draws 4 W, the cores, and the platform as an event.
  void add_domains() {
    const std::string events = "sys/bus/event_source/devices/power/events/energy-";
    m.tree.write(events + "cores", "event=0x01\n");
    m.tree.write(events + "ram", "event=0x03\n");
    m.tree.write(events + "psys", "event=0x05\n");
    const std::string zone = "sys/class/powercap/intel-rapl:0:2/";
    m.tree.write(zone + "name", "dram\n");
    m.tree.write(zone + "energy_uj", "7000000000\n");
  }

  // A tick 300 ms after the one before.
  void tick() {
    m.clock.advance(300ms);
    m.perf.counter(kRaplPmu, kPackage) += 6 * kCountsPerJoule;
    m.perf.counter(kRaplPmu, kGpu) += 3 * kCountsPerJoule / 10;
    m.perf.counter(kRaplPmu, kMemory) += 12 * kCountsPerJoule / 10;
    m.perf.counter(kRaplPmu, kPlatform) += 12 * kCountsPerJoule;
    package = (package + 6'000'000) % kRange;
    gpu += 300'000;
    platform += 12'000'000;
    write("intel-rapl:0", package);
    write("intel-rapl:0/intel-rapl:0:1", gpu);
    write("intel-rapl:1", platform);
    if (!reader) reader = std::make_unique<GpuReader>(m.machine(), AccessibleGpu{integrated_gpu(), access});
    (void)reader->read(frame);
  }
  void ticks(int count) {
    for (int i = 0; i < count; ++i) tick();
  }
  // Power at the last tick: "gpu 1 rapl_pmu, package 20 rapl_pmu, "
  std::string watts() const {
    std::string text;
    for (std::size_t i = 0; i < reader->layout().domains.size(); ++i) {
      const FrameLayout::Domain& domain = reader->layout().domains[i];
      if (domain.name == "cores" || !is_value(frame.watts[i])) continue;
      text += domain.name + " " + std::to_string(std::lround(frame.watts[i])) + " " + std::string(domain.source) + ", ";
    }
    return text;
  }

  TestMachine m;
  std::shared_ptr<GpuAccess> access = std::make_shared<AwakeIntegrated>();
  std::unique_ptr<GpuReader> reader;
  SampleFrame frame;
  std::uint64_t package = 9'000'000'000, gpu = 3'000'000'000, platform = 5'000'000'000;

 private:
  void write(const std::string& zone, std::uint64_t microjoules) {
    m.tree.write("sys/devices/virtual/powercap/intel-rapl/" + zone + "/energy_uj", std::to_string(microjoules) + "\n");
  }
};

}  // namespace

TEST_SUITE_BEGIN("sampler_energy");

TEST_CASE("each domain comes from one source, and powercap has those that the PMU lacks") {
  SampledLaptop laptop(true);
  laptop.ticks(3);
  CHECK(laptop.watts() == "gpu 1 rapl_pmu, package 20 rapl_pmu, psys 40 powercap, ");
}

TEST_CASE("an event that the kernel lists and rejects is a domain that the PMU lacks") {
  SampledLaptop laptop(true);
  laptop.m.perf.refuse(kRaplPmu, kGpu, EINVAL);
  laptop.ticks(3);
  CHECK(laptop.watts() == "package 20 rapl_pmu, gpu 1 powercap, psys 40 powercap, ");
}

TEST_CASE("a power PMU that fails at the first reading is not replaced by powercap's count of the same joules") {
  SampledLaptop laptop(true);
  laptop.m.perf.fail_reads(EIO);
  laptop.ticks(3);
  CHECK(laptop.watts() == "psys 40 powercap, ");
  laptop.m.perf.fail_reads(0);
  laptop.ticks(3);
  CHECK(laptop.watts() == "psys 40 powercap, gpu 1 rapl_pmu, package 20 rapl_pmu, ");
}

TEST_CASE("a permission for the PMU that is granted later is used") {
  SampledLaptop laptop(true);
  laptop.m.perf.refuse_all(EACCES);
  laptop.ticks(3);
  CHECK(laptop.watts() == "package 20 powercap, gpu 1 powercap, psys 40 powercap, ");
  laptop.m.perf.refuse_all(0);
  laptop.ticks(40);  // it is asked for every ten seconds
  CHECK(laptop.watts() == "psys 40 powercap, gpu 1 rapl_pmu, package 20 rapl_pmu, ");
}

TEST_CASE("when the PMU is permitted later, each of the five domains of RAPL has a place beside that of its zone") {
  SampledLaptop laptop(true);
  laptop.add_domains();
  laptop.m.perf.refuse_all(EACCES);
  laptop.ticks(3);
  CHECK(laptop.reader->layout().domains.size() == 5);
  laptop.m.perf.refuse_all(0);
  laptop.ticks(40);
  CHECK(laptop.reader->layout().domains.size() == 10);
  CHECK(laptop.watts() == "gpu 1 rapl_pmu, package 20 rapl_pmu, dram 4 rapl_pmu, psys 40 rapl_pmu, ");
}

// max_energy_range_uj, Documentation/ABI/testing/sysfs-class-powercap
TEST_CASE("powercap's counter wraps at its range: the sample has its power") {
  SampledLaptop laptop(false);
  laptop.package = kRange - 14'000'000;
  laptop.ticks(2);
  CHECK(laptop.watts() == "package 20 powercap, gpu 1 powercap, psys 40 powercap, ");
  laptop.tick();
  CHECK(laptop.package < 6'000'000);
  CHECK(laptop.watts() == "package 20 powercap, gpu 1 powercap, psys 40 powercap, ");
}

TEST_SUITE_END();
