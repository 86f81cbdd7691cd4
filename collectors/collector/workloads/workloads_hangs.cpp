// SPDX-License-Identifier: Apache-2.0
#include "collector/workloads/workloads_hangs.h"

#include <utility>

#include "collector/workloads/workloads_table.h"

namespace igpu {

void WorkloadHangs::begin_scan() {
  before_ = std::move(now_);
  now_.clear();
}

void WorkloadHangs::count(std::span<const ProcessHang> hangs) {
  for (const ProcessHang& hang : hangs) {
    std::string workload(WorkloadTable::kUnattributed);
    for (const auto* const scan : {&before_, &now_})
      if (const auto known = scan->find(hang.pid); known != scan->end()) workload = known->second;
    ++hangs_[{hang.device, std::move(workload), hang.kind}];
  }
}

void WorkloadHangs::fold(const std::set<std::string, std::less<>>& workloads) {
  for (auto next = hangs_.begin(); next != hangs_.end();) {
    const auto folded = next++;
    const auto& [device, workload, kind] = folded->first;
    if (!workloads.contains(workload)) continue;
    hangs_[{device, std::string(WorkloadTable::kOther), kind}] += folded->second;
    hangs_.erase(folded);
  }
}

}  // namespace igpu
