// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/workload_rules.h"

namespace igpu {

// The parts of text that the "*" and "?" of pattern stand for, in order; nullopt if text does not match. The number of
// steps is at most the product of both lengths.
std::optional<std::vector<std::string_view>> match_pattern(std::string_view pattern, std::string_view text);

// The properties of a process that rules are matched against.
struct RuleSubject {
  std::string_view comm;
  std::string_view exe;
  std::string_view cgroup;
  std::string_view user;
  std::span<const std::string> ancestors;  // comm of each ancestor, the parent first
};

// The name that a rule gives; nullopt if the rule does not match. The name may contain any bytes, because a process
// chooses some of its properties.
std::optional<std::string> name_by(const WorkloadRule& rule, const RuleSubject& subject);

}  // namespace igpu
