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
  bool in_user_namespace = false;  // one of our own: capabilities count for nothing outside it
};
PermissionFacts permission_facts(Machine& machine);

struct Advice {
  std::string cause;
  std::string hint;
};
// Where no GPU was found.
Advice no_gpu_advice(const std::string& sysfs_root);
// One line on what was denied, and one with the exact command that grants it. hint is empty if nothing can be done.
// gpu: the one that lacks it; nullptr for the whole machine.
Advice advise(const FeatureDescriptor& feature, const Absent& absent, const PermissionFacts& facts,
              const Gpu* gpu = nullptr);

}  // namespace igpu
