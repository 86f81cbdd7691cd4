// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Rules that group the processes that use a GPU. The exporter reads them from a file (--workload.rules); another
// program may build them itself.
namespace igpu {

// A process belongs to the first rule that matches it. A field of a rule holds patterns, one of which must match; an
// empty field matches every process. In a pattern "*" stands for any characters, "?" for one, and "\" makes the next
// character literal; the pattern must match the whole text.
struct WorkloadRule {
  // Name of the group. "{comm}", "{exe}", "{cgroup}", "{user}" and "{ancestor}" stand for what was matched, "{comm:1}"
  // for what the first "*" or "?" of the pattern stands for; "{{" and "}}" are braces.
  std::string name;
  std::vector<std::string> comm;      // what the process calls itself
  std::vector<std::string> exe;       // path of its program
  std::vector<std::string> cgroup;    // path of its control group
  std::vector<std::string> user;      // name, or number where there is none
  std::vector<std::string> ancestor;  // comm of one of the processes that it descends from
  bool operator==(const WorkloadRule&) const = default;
};
using WorkloadRules = std::vector<WorkloadRule>;

// The fields that hold patterns, by their names.
struct WorkloadRuleField {
  std::string_view name;
  std::vector<std::string> WorkloadRule::*patterns;
};
inline constexpr std::array<WorkloadRuleField, 5> kWorkloadRuleFields{{{"comm", &WorkloadRule::comm},
                                                                       {"exe", &WorkloadRule::exe},
                                                                       {"cgroup", &WorkloadRule::cgroup},
                                                                       {"user", &WorkloadRule::user},
                                                                       {"ancestor", &WorkloadRule::ancestor}}};

// What is wrong with a rule, as part of a sentence; "" if nothing is.
std::string error_in(const WorkloadRule& rule);

// Read at every scrape, by one thread at a time.
class WorkloadRuleSource {
 public:
  virtual ~WorkloadRuleSource() = default;
  // Never null. The same object as long as nothing has changed.
  virtual std::shared_ptr<const WorkloadRules> current() = 0;
};

}  // namespace igpu
