// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/workload_naming.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/hexadecimal.h"
#include "base/utf8.h"
#include "kernel/clients/cgroup_names.h"
#include "kernel/clients/process.h"
#include "kernel/clients/workload_rule_match.h"

namespace igpu {
namespace {

constexpr std::size_t kShortId = 12;  // as engines show ids to people
constexpr std::size_t kMostAncestors = 32;

std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::string bounded(std::string name) {
  if (name.size() <= kLongestWorkloadName) return name;
  const std::string digits = hexadecimal(hash_of(name), 8);
  std::size_t size = kLongestWorkloadName - digits.size() - 1;
  while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xc0U) == 0x80) --size;
  name.resize(size);
  return name + '~' + digits;
}

std::vector<std::string> ancestors_of(std::uint32_t pid, const Directory& proc) {
  std::vector<std::string> names;
  std::array<char, 2048> buffer;
  for (bool is_first = true; pid != 0 && names.size() < kMostAncestors; is_first = false) {
    const auto text = proc.read_start(std::to_string(pid) + "/stat", buffer);
    if (!text) break;
    const auto stat = parse_process_stat(*text);
    if (!stat) break;
    if (!is_first) names.emplace_back(stat->comm);
    pid = stat->parent;
  }
  return names;
}

}  // namespace

std::string workload_name(std::string_view name, std::string_view kind) {
  std::string valid;
  append_valid_utf8(valid, name.empty() ? "(no name)" : name);
  valid = bounded(std::move(valid));
  if (valid == kOtherWorkload || valid == kUnattributedWorkload) valid.append(" (").append(kind).append(")");
  return valid;
}

bool WorkloadNaming::needs_exe() const {
  return rules_ && std::ranges::any_of(*rules_, [](const WorkloadRule& rule) {
           return !rule.exe.empty() || rule.name.find("{exe") != std::string::npos;
         });
}

bool WorkloadNaming::needs_ancestors() const {
  return rules_ && std::ranges::any_of(*rules_, [](const WorkloadRule& rule) { return !rule.ancestor.empty(); });
}

std::optional<WorkloadLabels> WorkloadNaming::by_rule(const Subject& subject) const {
  if (!rules_) return std::nullopt;
  const ClientProcess& process = subject.process;
  const RuleSubject asked{process.comm, subject.exe, process.cgroup, process.user, subject.ancestors};
  for (const WorkloadRule& rule : *rules_) {
    if (const auto name = name_by(rule, asked)) {
      WorkloadLabels labels;
      labels.kind = "rule";
      labels.workload = workload_name(*name, labels.kind);
      return labels;
    }
  }
  return std::nullopt;
}

bool WorkloadNaming::set_pod(const ClientProcess& process, WorkloadLabels& labels) {
  if (process.pod_uid.empty()) return false;
  labels.pod_uid = process.pod_uid;
  if (const PodName* pod = names_ == nullptr ? nullptr : names_->pod(process.pod_uid)) {
    labels.name_space = pod->name_space;
    labels.pod = pod->name;
  }
  labels.kind = "pod";
  labels.workload = labels.pod.empty() ? labels.pod_uid : labels.name_space + "/" + labels.pod;
  return true;
}

bool WorkloadNaming::set_container(const ClientProcess& process, WorkloadLabels& labels) {
  // The inner one, if a container runs in another.
  const CgroupNames names = names_of_cgroup(process.cgroup);
  if (process.container_id.empty() && names.machine.empty()) return false;
  labels.container_id = process.container_id;
  if (process.container_id.empty()) {
    labels.container = names.machine;
  } else if (names_ != nullptr) {
    labels.container = names_->container(process.container_id, process.pod_uid, user_of_cgroup(process.cgroup));
  }
  const std::string name = labels.container.empty() ? process.container_id.substr(0, kShortId) : labels.container;
  const bool in_pod = set_pod(process, labels);
  labels.kind = "container";
  labels.workload = in_pod ? labels.workload + "/" + name : name;
  return true;
}

WorkloadLabels WorkloadNaming::labels_of(const Subject& subject) {
  if (auto labels = by_rule(subject)) return *std::move(labels);
  const ClientProcess& process = subject.process;
  WorkloadLabels labels;
  if (by_ == WorkloadBy::user) {
    labels.kind = "user";
    labels.workload = process.user;
  } else if (by_ == WorkloadBy::pod && set_pod(process, labels)) {
    // A pod is more than one container: none of them is named.
  } else if ((by_ == WorkloadBy::pod || by_ == WorkloadBy::container) && set_container(process, labels)) {
    labels.systemd_unit = process.systemd_unit;
  } else if (by_ != WorkloadBy::comm && !process.systemd_unit.empty()) {
    labels.kind = "systemd_unit";
    labels.workload = labels.systemd_unit = process.systemd_unit;
  } else {
    labels.kind = "comm";
    labels.workload = process.comm;
  }
  labels.workload = workload_name(labels.workload, labels.kind);
  // Text from a cgroup or a file is as untrusted as any other.
  for (std::string* text : {&labels.name_space, &labels.pod, &labels.container, &labels.systemd_unit}) {
    std::string valid;
    append_valid_utf8(valid, *text);
    *text = bounded(std::move(valid));
  }
  return labels;
}

WorkloadLabels WorkloadNaming::labels_of(const ClientProcess& process, const Directory& proc) {
  std::string exe;
  if (needs_exe()) exe = proc.read_link(std::to_string(process.pid) + "/exe").value_or(std::string());
  const auto ancestors = needs_ancestors() ? ancestors_of(process.pid, proc) : std::vector<std::string>();
  return labels_of({process, exe, ancestors});
}

}  // namespace igpu
