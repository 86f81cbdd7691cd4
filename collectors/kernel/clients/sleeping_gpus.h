// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/clients/drm_descriptor.h"
#include "machine/filesystem.h"

namespace igpu {

// Decides which fdinfo files may be read while GPUs sleep: reading the fdinfo of an xe client resumes its GPU. Reading
// the fdinfo of an NPU's client resumes nothing, so nodes of NPUs always count as awake.
class SleepingGpus {
 public:
  SleepingGpus() = default;
  // asleep: PCI addresses; must outlive the object.
  SleepingGpus(const Directory& sys, std::span<const std::string> asleep);

  // While an xe GPU sleeps, only files that are known to belong to another GPU may be read.
  bool has_sleeping_xe() const { return has_sleeping_xe_; }
  bool all_asleep() const { return awake_nodes_.empty(); }
  bool is_asleep(std::string_view address) const;
  // target: the target of the link /proc/<pid>/fd/<fd>.
  bool is_awake_node(std::string_view target) const;
  bool is_awake_number(const DeviceNumber& number) const;

 private:
  void add_node(const Directory& sys, std::string_view name, std::vector<std::string_view>& i915_addresses);
  void add_awake(const Directory& sys, const std::string& path);

  std::span<const std::string> asleep_;
  std::vector<std::string> awake_nodes_;
  std::vector<DeviceNumber> awake_numbers_;
  bool has_sleeping_xe_ = false;
};

}  // namespace igpu
