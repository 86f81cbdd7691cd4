// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/collector.h"

// Every collector, in its own .cpp.
namespace igpu {

CollectorEntry identity_collector();
CollectorEntry engines_collector();
CollectorEntry frequency_collector();
CollectorEntry rc6_collector();
CollectorEntry power_collector();
CollectorEntry hwmon_collector();
CollectorEntry memory_collector();
CollectorEntry pcie_collector();
CollectorEntry imc_collector();
CollectorEntry jobs_collector();
CollectorEntry fdinfo_collector();
CollectorEntry health_collector();
CollectorEntry sriov_collector();
CollectorEntry npu_collector();
CollectorEntry connectors_collector();
CollectorEntry workloads_collector();
CollectorEntry host_collector();
CollectorEntry level_zero_collector();
CollectorEntry samples_collector();

}  // namespace igpu
