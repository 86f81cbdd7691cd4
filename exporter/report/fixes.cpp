// SPDX-License-Identifier: Apache-2.0
#include "report/fixes.h"

#include <algorithm>

#include "igpu/monitor.h"

namespace igpu::exporter {

std::vector<Fix> fixes_for(std::span<const Finding> findings) {
  std::vector<Fix> fixes;
  for (const Finding& finding : findings) {
    if (!is_missing(finding)) continue;
    // Without a hint, findings are grouped by cause.
    const auto same = [&](const Fix& fix) {
      return fix.hint == finding.hint && (!fix.hint.empty() || fix.causes.front() == finding.cause);
    };
    auto fix = std::find_if(fixes.begin(), fixes.end(), same);
    if (fix == fixes.end()) fix = fixes.insert(fixes.end(), {finding.hint, {finding.cause}, {}});
    if (std::find(fix->causes.begin(), fix->causes.end(), finding.cause) == fix->causes.end()) {
      fix->causes.push_back(finding.cause);
    }
    fix->findings.push_back(&finding);
  }
  return fixes;
}

// What the collectors that are always on cannot read is the least useful to know.
std::vector<Finding> most_useful_first(std::span<const Finding> findings) {
  const std::vector<CollectorDescription> collectors = describe_collectors();
  const auto is_always_on = [&](const Finding& finding) {
    return std::any_of(collectors.begin(), collectors.end(), [&](const CollectorDescription& collector) {
      return collector.always_on && collector.name == finding.collector;
    });
  };
  std::vector<Finding> ordered(findings.begin(), findings.end());
  std::stable_partition(ordered.begin(), ordered.end(), [&](const Finding& finding) { return !is_always_on(finding); });
  return ordered;
}

}  // namespace igpu::exporter
