// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "kernel/pmu/energy_sources.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("powercap");

using namespace igpu;
using igpu::test::TestMachine;

namespace {

std::string listed(const std::vector<PowercapZone>& zones) {
  std::string text;
  for (const PowercapZone& zone : zones)
    text += std::string(zone.domain) + "=" + zone.path.substr(zone.path.rfind('/') + 1) + " ";
  return text;
}

}  // namespace

TEST_CASE("a laptop with the integrated GPU's zone (uncore) and the platform's") {
  TestMachine m("powercap-client-psys");
  auto zones = powercap_zones(m.sys);
  CHECK(listed(zones) == "package=intel-rapl:0 cores=intel-rapl:0:0 gpu=intel-rapl:0:1 psys=intel-rapl:1 ");
  CHECK(zones[2].energy.number().value_or(0) == 23992349269);
  CHECK(zones[2].range == 262143328850);
}

TEST_CASE("zones are numbered in hexadecimal, and two packages are two zones of one domain") {
  TestMachine m("powercap-95w-package-core");
  CHECK(listed(powercap_zones(m.sys)) == "package=intel-rapl:0 cores=intel-rapl:0:0 package=intel-rapl:a ");
}

TEST_CASE("the package's zone over MMIO is the same package: left out, as are unknown zones") {
  TestMachine m;
  const auto zone = [&](const std::string& folder, const char* name) {
    m.tree.write("sys/class/powercap/" + folder + "/name", name);
    m.tree.write("sys/class/powercap/" + folder + "/energy_uj", "5\n");
  };
  zone("intel-rapl-mmio:0", "package-0\n");
  zone("intel-rapl:0", "package-0-die-1\n");
  zone("intel-rapl:0:2", "dram\n");
  zone("intel-rapl:1", "psys-1\n");
  zone("intel-rapl:2", "something-new\n");
  zone("dtpm:0", "package-0\n");
  auto zones = powercap_zones(m.sys);
  CHECK(listed(zones) == "package=intel-rapl:0 dram=intel-rapl:0:2 psys=intel-rapl:1 ");
  CHECK(zones[0].range == 0);  // unknown: then a step back is a restart, never a wrap
}

TEST_CASE("energy is readable by root only: EACCES is no failure") {
  TestMachine m("powercap-client-psys");
  m.sys.refuse_opening("energy_uj", EACCES);
  auto zones = powercap_zones(m.sys);
  REQUIRE(zones.size() == 4);
  const auto energy = zones[0].energy.number();
  REQUIRE(energy.is_absent());
  CHECK(energy.absent() == Absent{Reason::permission, EACCES});
}

TEST_SUITE_END();
