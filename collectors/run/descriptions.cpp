// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "collector/collector.h"
#include "igpu/monitor.h"
#include "run/configuration.h"
#include "run/registry_metrics.h"

namespace igpu {
namespace {

CollectorDescription describe(const CollectorInfo& info) {
  return {info.name,
          info.help,
          info.enabled_by_default,
          info.for_commands,
          info.always_on,
          info.metrics,
          info.features,
          info.options,
          info.notes,
          info.reads_processes,
          info.proc_files,
          info.in_windows,
          info.not_in_linux};
}

}  // namespace

std::vector<CollectorDescription> describe_collectors() {
  std::vector<CollectorDescription> descriptions;
  for (const CollectorEntry& entry : all_collectors()) descriptions.push_back(describe(*entry.info));
  return descriptions;
}

std::vector<CollectorDescription> describe_collectors(const MonitorOptions& options) {
  std::vector<CollectorDescription> descriptions;
  for (const CollectorEntry& entry : all_collectors())
    if (is_enabled(*entry.info, options)) descriptions.push_back(describe(*entry.info));
  return descriptions;
}

bool reads_processes(const MonitorOptions& options) {
  const auto& all = all_collectors();
  return options.simulate.empty() && std::ranges::any_of(all, [&](const CollectorEntry& entry) {
           return entry.info->reads_processes && is_enabled(*entry.info, options);
         });
}

std::span<const MetricDescriptor* const> registry_metrics() { return kRegistryMetrics; }

}  // namespace igpu
