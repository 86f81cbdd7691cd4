// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/health/health_facts.h"
#include "collector/jobs/jobs_facts.h"
#include "kernel/clients/clients.h"
#include "trace/job_counts.h"

namespace igpu {

// Counts jobs by workload. The kernel counts jobs by the process that submitted them, and scans find the workload of
// each process.
//
//   - Jobs that a process adds between two scrapes belong to its workload at the second scrape.
//   - Jobs of a process that no scan has found within a minute, or before it ended, are "unattributed".
//   - The kernel has room for 959 groups of jobs, one for each process, GPU and class of engines. When a process has
//     ended and was counted, its groups are freed.
class WorkloadJobs {
 public:
  using Series = std::tuple<std::string, JobClass, JobSource>;  // device, class, source
  using OfWorkload = std::map<Series, JobCounts>;

  // Records that a scan found the process in this workload.
  void found(std::uint32_t pid, std::uint64_t start_ticks, std::string_view workload, Nanoseconds now);
  void advance(const CountedJobsByDevice& counters, const ClientSnapshot& snapshot);
  // Adds the jobs of these workloads to "other" from now on.
  void fold(const std::set<std::string, std::less<>>& workloads);

  const std::map<std::string, OfWorkload, std::less<>>& by_workload() const { return by_workload_; }

 private:
  struct Member {
    std::string workload;
    Nanoseconds seen{};
  };
  struct Group {
    Nanoseconds first_read{};
    std::string workload;  // "" until it is known
    JobCounts counted;
  };

  void read(const ProcessJobs& jobs, const ClientSnapshot& snapshot, std::map<std::size_t, Group>& groups,
            bool has_device, std::vector<std::size_t>& ended);
  void forget_members(const ClientSnapshot& snapshot);

  std::map<std::pair<std::uint32_t, std::uint64_t>, Member> members_;  // by PID and start
  std::map<const JobCounters*, std::map<std::size_t, Group>> groups_;
  std::map<std::string, OfWorkload, std::less<>> by_workload_;
};

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
