// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/units.h"
#include "machine/machine.h"
#include "run/advice.h"

namespace igpu {

// Findings with their explanations. What a machine lacks seldom changes, so the explanations of one scrape are kept for
// the next scrapes, and the list is shared while nothing changes. Any thread.
class KeptFindings {
 public:
  using List = std::shared_ptr<const std::vector<Finding>>;

  // Before anything is explained, once: the exporter's sandbox leaves the file out of reach.
  void read_release(Machine& machine);

  // noted: the findings of this scrape, unexplained. gpu_of(device): the GPU, or nullptr for the whole machine.
  template <class F>
  List explain(std::vector<Finding>&& noted, Machine& machine, F&& gpu_of) {
    const std::lock_guard lock(mutex_);
    const Nanoseconds now = machine.clock.now();
    if (last_ && is_last(noted) && !(depends_on_rights_ && now - explained_at_ >= kRightsBelieved)) return last_;
    explained_at_ = now;
    depends_on_rights_ = false;
    std::optional<PermissionFacts> facts;
    for (Finding& finding : noted)
      if (!finding.available) explain(finding, machine, gpu_of(finding.device), facts);
    last_ = std::make_shared<const std::vector<Finding>>(std::move(noted));
    return last_;
  }

 private:
  // For how long permission facts are used again. A sysctl or a rule of a security module may change while access stays
  // denied; the hint then changes within this time.
  static constexpr Nanoseconds kRightsBelieved = std::chrono::minutes(1);

  bool is_last(std::span<const Finding> noted) const;
  void explain(Finding& finding, Machine& machine, const Gpu* gpu, std::optional<PermissionFacts>& facts);

  std::mutex mutex_;
  List last_;
  Nanoseconds explained_at_{};
  std::string running_;  // release of the kernel; "": unknown
  bool depends_on_rights_ = false;
};

}  // namespace igpu
