// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/option.h"
#include "igpu/workload_rules.h"
#include "kernel/clients/clients.h"
#include "kernel/clients/container_names.h"
#include "machine/filesystem.h"

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

// --workload.by. A process without the chosen property falls back to the next one: pod, container, unit, comm.
enum class WorkloadBy { pod, container, systemd_unit, comm, user };
inline constexpr std::array<Choice<WorkloadBy>, 6> kWorkloadByChoices{{{"auto", WorkloadBy::pod},
                                                                       {"container", WorkloadBy::container},
                                                                       {"pod", WorkloadBy::pod},
                                                                       {"systemd_unit", WorkloadBy::systemd_unit},
                                                                       {"comm", WorkloadBy::comm},
                                                                       {"user", WorkloadBy::user}}};
inline constexpr ChoiceOption<WorkloadBy> kWorkloadBy{
    {.flag = "workload.by",
     .default_value = "auto",
     .help = "What makes a workload. auto: the pod, or else the container, the systemd unit, or the program's name "
             "(comm). Each other choice falls back in the same order."},
    kWorkloadByChoices};

// The name of a workload, and the other labels of its info metric.
struct WorkloadLabels {
  std::string workload;
  std::string kind;  // "pod", "container", "systemd_unit", "comm", "user", "rule", "tree"
  std::string name_space;
  std::string pod;
  std::string container;
  std::string container_id;
  std::string pod_uid;
  std::string systemd_unit;
};

// Reserved names that are not a single workload.
inline constexpr std::string_view kOtherWorkload = "other";
inline constexpr std::string_view kUnattributedWorkload = "unattributed";

// The longest name of a workload, in bytes.
inline constexpr std::size_t kLongestWorkloadName = 128;
// Turns a name into a label value: valid UTF-8 of at most kLongestWorkloadName bytes, distinct for distinct names, and
// not a reserved name.
std::string workload_name(std::string_view name, std::string_view kind);

// Decides which workload a process belongs to.
class WorkloadNaming {
 public:
  // names: names of the host; may be null; must outlive this object.
  WorkloadNaming(WorkloadBy by, ContainerNames* names) : by_(by), names_(names) {}

  // Sets the rules, which take precedence; null: none.
  void use(std::shared_ptr<const WorkloadRules> rules) { rules_ = std::move(rules); }
  // Whether the rules need the programs and the ancestors of processes.
  bool needs_exe() const;
  bool needs_ancestors() const;

  struct Subject {
    const ClientProcess& process;
    std::string_view exe = {};
    std::span<const std::string> ancestors = {};  // comm of each, the parent first
  };
  WorkloadLabels labels_of(const Subject& subject);
  // As above, but reads the program and the ancestors, if rules need them, from `proc`, the root of /proc.
  WorkloadLabels labels_of(const ClientProcess& process, const Directory& proc);

 private:
  std::optional<WorkloadLabels> by_rule(const Subject& subject) const;
  bool set_pod(const ClientProcess& process, WorkloadLabels& labels);
  bool set_container(const ClientProcess& process, WorkloadLabels& labels);

  const WorkloadBy by_;
  ContainerNames* const names_;
  std::shared_ptr<const WorkloadRules> rules_;
};

}  // namespace igpu
