// SPDX-License-Identifier: Apache-2.0
#include "kernel/pmu/collected_pmus.h"

#include <algorithm>
#include <array>

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

namespace {

constexpr std::string_view kPmuFolder = "bus/event_source/devices";

// In the order of preference: dedicated counters before those shared with other users of perf.
struct Family {
  std::string_view pmu, read, write;
  bool sub_channels;
};
constexpr std::array<Family, 3> kImcFamilies{{{"uncore_imc", "data_reads", "data_writes", false},
                                              {"uncore_imc_free_running", "data_read", "data_write", false},
                                              {"uncore_imc", "cas_count_read", "cas_count_write", true}}};

bool names(std::string_view event, std::string_view wanted, bool sub_channels) {
  if (event == wanted) return true;
  return sub_channels && event.starts_with(wanted) && event.substr(wanted.size()).starts_with("_sch") &&
         event.find('.') == std::string_view::npos;
}

}  // namespace

std::vector<ImcPmu> imc_pmus(const Directory& sys) {
  std::vector<std::string> candidates;
  (void)sys.for_each(kPmuFolder, [&](std::string_view name) {
    if (name.starts_with("uncore_imc")) candidates.emplace_back(name);
    return true;
  });
  std::ranges::sort(candidates);
  for (const Family& family : kImcFamilies) {
    std::vector<ImcPmu> found;
    for (const std::string& name : candidates) {
      if (!name.starts_with(family.pmu)) continue;
      ImcPmu pmu{name, {}, {}};
      for (const std::string& event : sorted_names(sys, std::string(kPmuFolder) + "/" + name + "/events")) {
        if (names(event, family.read, family.sub_channels)) pmu.reads.push_back(event);
        if (names(event, family.write, family.sub_channels)) pmu.writes.push_back(event);
      }
      if (!pmu.reads.empty() && !pmu.writes.empty()) found.push_back(std::move(pmu));
    }
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace igpu
