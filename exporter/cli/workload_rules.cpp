// SPDX-License-Identifier: Apache-2.0
#include "cli/workload_rules.h"

#include <memory>
#include <utility>

#include "workloads/rules_file.h"

namespace igpu::exporter {

std::string workload_rules_file(const MonitorOptions& options) {
  const auto given = options.collector_options.find("workload.rules");
  return given == options.collector_options.end() || given->second.empty() ? std::string() : given->second.back();
}

MonitorOptions with_workload_rules(MonitorOptions options, Log& log) {
  if (std::string file = workload_rules_file(options); !file.empty())
    options.workload_rules = std::make_shared<WorkloadRulesFile>(std::move(file), log);
  return options;
}

}  // namespace igpu::exporter
