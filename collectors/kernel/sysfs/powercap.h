// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/units.h"
#include "kernel/sysfs/attribute.h"
#include "machine/filesystem.h"

// RAPL energy through powercap (Documentation/ABI/testing/sysfs-class-powercap, drivers/powercap/): the fallback where
// access to the `power` PMU is denied. energy_uj is 0400 since 5.10.
namespace igpu {

struct PowercapZone {
  std::string_view domain;  // gpu (the zone named uncore), package, cores, dram, psys
  std::string path;         // "class/powercap/intel-rapl:0:1"
  Attribute energy;         // microjoules
  std::uint64_t range = 0;  // max_energy_range_uj: the count wraps there; 0 if unknown
};

// More than any RAPL domain draws; used to distinguish a wraparound of its counter from a reset.
inline constexpr Watts kMostRaplPower{1000};
// The time in which a counter with this range wraps around once at that power.
Nanoseconds powercap_lap(std::uint64_t range);

// Zones of all packages. intel-rapl-mmio is left out: it shows the package a second time.
std::vector<PowercapZone> powercap_zones(const Directory& sys);

}  // namespace igpu
