// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/powercap.h"

#include <array>

#include "base/scan.h"

namespace igpu {
namespace {

std::string_view domain_of_zone(std::string_view zone) {
  if (zone.starts_with("package-")) return "package";
  if (zone == "uncore") return "gpu";
  if (zone == "core") return "cores";
  if (zone == "dram") return "dram";
  if (zone == "psys" || zone.starts_with("psys-")) return "psys";
  return {};
}

}  // namespace

Nanoseconds powercap_lap(std::uint64_t range) {
  const std::chrono::duration<double> lap(static_cast<double>(range) / 1e6 / kMostRaplPower.value);
  constexpr std::chrono::hours kLongest{24 * 365};  // a range may be any number
  return lap < kLongest ? std::chrono::duration_cast<Nanoseconds>(lap) : Nanoseconds(kLongest);
}

std::vector<PowercapZone> powercap_zones(const Directory& sys) {
  std::vector<PowercapZone> zones;
  std::array<char, 128> buffer;
  for (const std::string& name : sorted_names(sys, "class/powercap")) {
    if (!name.starts_with("intel-rapl:")) continue;
    const std::string path = "class/powercap/" + name;
    const auto text = sys.read(path + "/name", buffer);
    if (!text) continue;
    const std::string_view domain = domain_of_zone(trim(*text));
    if (domain.empty()) continue;
    std::uint64_t range = 0;
    if (const auto limit = sys.read(path + "/max_energy_range_uj", buffer)) range = scan_u64(*limit).value_or(0);
    zones.push_back({domain, path, Attribute(sys, path + "/energy_uj"), range});
  }
  return zones;
}

}  // namespace igpu
