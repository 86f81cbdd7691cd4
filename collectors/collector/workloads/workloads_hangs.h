// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "collector/health/health_facts.h"

namespace igpu {

// Hangs by workload. A hang belongs to the workload in which one of the last two scans found its process, which may
// have ended since. Otherwise it is "unattributed". Pure.
class WorkloadHangs {
 public:
  using Series = std::tuple<std::string, std::string, std::string_view>;  // device, workload, kind

  void begin_scan();
  void found(std::uint32_t pid, std::string_view workload) { now_[pid] = workload; }
  void count(std::span<const ProcessHang> hangs);
  // Adds the hangs of these workloads to "other" from now on.
  void fold(const std::set<std::string, std::less<>>& workloads);

  const std::map<Series, std::uint64_t>& series() const { return hangs_; }

 private:
  std::map<std::uint32_t, std::string> now_, before_;  // workloads by PID
  std::map<Series, std::uint64_t> hangs_;
};

}  // namespace igpu
