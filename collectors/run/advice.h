// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "machine/machine.h"

namespace igpu {

// Facts that decide which hint helps.
struct PermissionFacts {
  std::optional<int> perf_event_paranoid;  // /proc/sys/kernel/perf_event_paranoid
  bool has_perfmon = false;
  bool has_ptrace = false;
  bool in_user_namespace = false;  // not the initial one: the kernel ignores capabilities from it
};
PermissionFacts permission_facts(Machine& machine);

struct Advice {
  std::string cause;
  std::string hint;
  Rights rights = Rights::none;
  std::string command = {};
};
// The advice for a machine without an Intel GPU.
Advice no_gpu_advice(const Machine& machine, const std::string& sysfs_root);
// The members as in Finding. gpu: the GPU that lacks the feature; null: the machine does.
Advice advise(const FeatureDescriptor& feature, const Absent& absent, const PermissionFacts& facts,
              const Gpu* gpu = nullptr);
// Of a GPU that sleeps, what is known without waking it: whether the feature is of another system (nullopt), and
// whether no GPU of its kind has it, or no version of its driver.
std::optional<Absent> absence_while_asleep(const FeatureDescriptor& feature, const Gpu& gpu);
// The advice for Windows, where other hints apply.
Advice advise_for_windows(const FeatureDescriptor& feature, const Absent& absent, const Gpu* gpu = nullptr);

}  // namespace igpu
