// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "igpu/workload_rules.h"

namespace igpu::test {

// Rules of workloads that never change.
class FixedRules final : public WorkloadRuleSource {
 public:
  explicit FixedRules(WorkloadRules rules) : rules_(std::make_shared<const WorkloadRules>(std::move(rules))) {}
  std::shared_ptr<const WorkloadRules> current() override { return rules_; }

 private:
  std::shared_ptr<const WorkloadRules> rules_;
};

}  // namespace igpu::test
