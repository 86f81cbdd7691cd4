// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/workload_rules.h"

namespace igpu {

// The parts of text that the "*" and "?" of pattern stand for, in order; nothing if it does not match. Takes at most
// the product of both lengths.
std::optional<std::vector<std::string_view>> match_pattern(std::string_view pattern, std::string_view text);

// What rules are asked about.
struct RuleSubject {
  std::string_view comm;
  std::string_view exe;
  std::string_view cgroup;
  std::string_view user;
  std::span<const std::string> ancestors;  // comm of each, the parent first
};

// The name that a rule gives; nothing if it does not match. May hold any bytes that the process chose.
std::optional<std::string> name_by(const WorkloadRule& rule, const RuleSubject& subject);

}  // namespace igpu
