// SPDX-License-Identifier: Apache-2.0
#include "kernel/pmu/collected_pmus.h"

#include <array>
#include <string>

#include "base/scan.h"

namespace igpu {

bool is_collected_pmu(std::string_view name) {
  return name == "i915" || name.starts_with("i915_") || name.starts_with("xe_") || name == "power" ||
         name.starts_with("uncore_imc");
}

bool is_type_of_collected_pmu(const Directory& sys, std::uint32_t type) {
  const std::string folder = "bus/event_source/devices";
  bool found = false;
  (void)sys.for_each(folder, [&](std::string_view name) {
    if (!is_collected_pmu(name)) return true;
    std::array<char, 32> buffer;
    const auto text = sys.read(folder + "/" + std::string(name) + "/type", buffer);
    found = text && scan_integer<std::uint32_t>(*text) == type;
    return !found;
  });
  return found;
}

}  // namespace igpu
