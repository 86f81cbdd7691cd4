// SPDX-License-Identifier: Apache-2.0
#include "source/pmu_name.h"

#include <algorithm>
#include <vector>

namespace igpu {

std::string gpu_pmu_name(const Directory& sys, std::string_view driver, std::string_view address, bool integrated) {
  std::string suffix(address);
  std::replace(suffix.begin(), suffix.end(), ':', '_');
  const std::string own = std::string(driver) + "_" + suffix;
  if (driver != "i915") return own;
  const auto exists = [&](std::string_view pmu) { return bool(sys.stat(std::string(kPmuFolder) + std::string(pmu))); };
  constexpr std::string_view kPlain = "i915";
  // Drivers up to 6.12 give the plain name to any GPU at 0000:00:02.0, later ones to integrated GPUs at any address.
  // Before 5.10 all GPUs had it.
  if (exists(own)) return own;
  if (integrated || address == "0000:00:02.0") return std::string(kPlain);
  if (!exists(kPlain)) return own;
  // A card that is being removed no longer has its own PMU or an entry among the driver's devices.
  std::vector<std::string> devices = sorted_names(sys, "bus/pci/drivers/i915");
  std::erase_if(devices, [](const std::string& entry) { return entry.find(':') == std::string::npos; });
  return devices.size() == 1 && devices.front() == address ? std::string(kPlain) : own;
}

bool counts_for_whole_machine(std::string_view pmu) { return pmu.starts_with("i915") || pmu.starts_with("xe_"); }

}  // namespace igpu
