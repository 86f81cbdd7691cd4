// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collector/workloads_table.h"
#include "igpu/workload_rules.h"
#include "source/clients.h"
#include "source/container_names.h"

namespace igpu {

// --workload.by. A process without the chosen property falls back to the next one: pod, container, unit, comm.
enum class WorkloadBy { pod, container, systemd_unit, comm, user };

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
  bool asks_for_exe() const;
  bool asks_for_ancestors() const;

  struct Subject {
    const ClientProcess& process;
    std::string_view exe = {};
    std::span<const std::string> ancestors = {};  // comm of each, the parent first
  };
  WorkloadLabels labels_of(const Subject& subject);

 private:
  std::optional<WorkloadLabels> by_rule(const Subject& subject) const;
  bool set_pod(const ClientProcess& process, WorkloadLabels& labels);
  bool set_container(const ClientProcess& process, WorkloadLabels& labels);

  const WorkloadBy by_;
  ContainerNames* const names_;
  std::shared_ptr<const WorkloadRules> rules_;
};

}  // namespace igpu
