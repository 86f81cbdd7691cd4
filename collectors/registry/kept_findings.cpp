// SPDX-License-Identifier: Apache-2.0
#include "registry/kept_findings.h"

#include <algorithm>
#include <string>
#include <utility>

namespace igpu {

bool KeptFindings::is_last(std::span<const NotedFeature> noted) const {
  return std::equal(noted.begin(), noted.end(), last_noted_.begin(), last_noted_.end(),
                    [](const NotedFeature& a, const NotedFeature& b) {
                      return a.feature == b.feature && a.available == b.available &&
                             (a.available || a.absent == b.absent) && a.collector == b.collector &&
                             a.device == b.device;
                    });
}

void KeptFindings::explain(Finding& finding, Machine& machine, const Gpu* gpu, std::optional<PermissionFacts>& facts) {
  // Permissions are read only for hints that depend on them.
  if (!machine.adapters && finding.absent.reason == Reason::permission) {
    depends_on_rights_ = true;
    if (!facts) facts = permission_facts(machine);
  }
  Advice advice = machine.adapters ? advise_for_windows(*finding.feature, finding.absent, gpu)
                                   : advise(*finding.feature, finding.absent, facts.value_or(PermissionFacts{}), gpu);
  finding.cause = std::move(advice.cause);
  finding.hint = std::move(advice.hint);
  // Without an errno, a flag disabled the feature.
  if (finding.absent.reason == Reason::disabled && finding.absent.os_error == 0)
    finding.hint = "--collector." + std::string(finding.collector);
}

}  // namespace igpu
