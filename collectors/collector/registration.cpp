// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collector/collectors.h"

namespace igpu {

std::span<const CollectorEntry> all_collectors() {
  // In the order they run. To add a collector: one line here and in collectors.h, its file, its test.
  // clang-format off
  static const std::array kCollectors{
      identity_collector(),
      engines_collector(),
      frequency_collector(),
      rc6_collector(),
      power_collector(),
      hwmon_collector(),
      memory_collector(),
      pcie_collector(),
      imc_collector(),
      jobs_collector(),
      fdinfo_collector(),
      health_collector(),
      sriov_collector(),
      npu_collector(),
      connectors_collector(),
      workloads_collector(),
      host_collector(),
      level_zero_collector(),
      samples_collector(),
  };
  // clang-format on
  return kCollectors;
}

}  // namespace igpu
