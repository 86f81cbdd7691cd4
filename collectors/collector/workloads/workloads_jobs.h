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
#include "collector/shared/job_series.h"
#include "collector/workloads/workloads_table.h"
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
  void found(std::uint32_t pid, std::uint64_t start_ticks, std::string_view workload, Nanoseconds now) {
    Member& member = members_[{pid, start_ticks}];
    member.workload = workload;
    member.seen = now;
  }
  void advance(const CountedJobsByDevice& counters, const ClientSnapshot& snapshot) {
    std::set<const JobCounters*> distinct;  // GPUs of one driver share them
    for (const auto& [device, of_driver] : counters) distinct.insert(of_driver.counters);
    for (const JobCounters* const one : distinct) {
      auto& groups = groups_[one];
      std::vector<std::size_t> ended;
      ProcessJobSlots slots(one->process_slots());
      slots.for_each([&](const ProcessJobs& jobs) {
        const auto known = counters.find(std::string(jobs.device));
        read(jobs, snapshot, groups, known != counters.end() && known->second.counters == one, ended);
      });
      for (const std::size_t group : ended) {
        slots.free(group);
        groups.erase(group);
      }
    }
    forget_members(snapshot);
  }
  // Adds the jobs of these workloads to "other" from now on.
  void fold(const std::set<std::string, std::less<>>& workloads) {
    for (auto next = by_workload_.begin(); next != by_workload_.end();) {
      const auto folded = next++;
      if (!workloads.contains(folded->first)) continue;
      OfWorkload& other = by_workload_[std::string(WorkloadTable::kOther)];
      for (const auto& [series, counts] : folded->second) {
        JobCounts& sum = other.try_emplace(series, JobCounts{}).first->second;
        sum.engine_class = counts.engine_class;
        sum.source = counts.source;
        add_change(sum, counts, JobCounts{});
      }
      by_workload_.erase(folded);
    }
  }

  const std::map<std::string, OfWorkload, std::less<>>& by_workload() const { return by_workload_; }

 private:
  static constexpr Nanoseconds kFoundWithin = std::chrono::minutes(1);
  static constexpr Nanoseconds kWorkloadJobsRemember = std::chrono::minutes(15);
  static constexpr std::size_t kMostMembers = 65536;

  static void add_change(JobCounts& sum, const JobCounts& now, const JobCounts& before) {
    for (std::size_t i = 0; i < JOB_OUTCOMES; ++i) sum.outcomes[i] += now.outcomes[i] - before.outcomes[i];
    for (std::size_t i = 0; i < kJobBuckets; ++i) {
      sum.queue[i] += now.queue[i] - before.queue[i];
      sum.run[i] += now.run[i] - before.run[i];
    }
    sum.queue_seconds += now.queue_seconds - before.queue_seconds;
    sum.run_seconds += now.run_seconds - before.run_seconds;
  }

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
            bool has_device, std::vector<std::size_t>& ended) {
    const auto [entry, is_new] = groups.try_emplace(jobs.group);
    Group& group = entry->second;
    if (is_new) group.first_read = snapshot.time;
    const auto member = members_.find({jobs.pid, jobs.start_ticks});
    if (member != members_.end()) group.workload = member->second.workload;
    const bool is_over = !is_new && has_ended(jobs, snapshot);
    if (group.workload.empty()) {
      if (jobs.pid != 0 && !is_over && snapshot.time - group.first_read < kFoundWithin) return;
      group.workload = WorkloadTable::kUnattributed;
    }
    // The kernel adds to several counters for one job: a group is complete if it stands still.
    if (is_over && !jobs.in_flight && jobs.counts == group.counted) ended.push_back(jobs.group);
    if (jobs.counts == group.counted) return;
    if (has_device) {
      const auto [sum, is_first] = by_workload_[group.workload].try_emplace(
          {std::string(jobs.device), jobs.counts.engine_class, jobs.counts.source}, JobCounts{});
      sum->second.engine_class = jobs.counts.engine_class;
      sum->second.source = jobs.counts.source;
      add_change(sum->second, jobs.counts, group.counted);
    }
    group.counted = jobs.counts;
  }
  void forget_members(const ClientSnapshot& snapshot) {
    const bool crowded = members_.size() > kMostMembers;
    std::erase_if(members_, [&](const auto& entry) {
      const Nanoseconds age = snapshot.time - entry.second.seen;
      return age > kWorkloadJobsRemember || (crowded && age > Nanoseconds::zero());
    });
  }

  std::map<std::pair<std::uint32_t, std::uint64_t>, Member> members_;  // by PID and start
  std::map<const JobCounters*, std::map<std::size_t, Group>> groups_;
  std::map<std::string, OfWorkload, std::less<>> by_workload_;
};

// Hangs by workload. A hang belongs to the workload in which one of the last two scans found its process, which may
// have ended since. Otherwise it is "unattributed". Pure.
class WorkloadHangs {
 public:
  using Series = std::tuple<std::string, std::string, std::string_view>;  // device, workload, kind

  void begin_scan() {
    before_ = std::move(now_);
    now_.clear();
  }
  void found(std::uint32_t pid, std::string_view workload) { now_[pid] = workload; }
  void count(std::span<const ProcessHang> hangs) {
    for (const ProcessHang& hang : hangs) {
      std::string workload(WorkloadTable::kUnattributed);
      for (const auto* const scan : {&before_, &now_})
        if (const auto known = scan->find(hang.pid); known != scan->end()) workload = known->second;
      ++hangs_[{hang.device, std::move(workload), hang.kind}];
    }
  }
  // Adds the hangs of these workloads to "other" from now on.
  void fold(const std::set<std::string, std::less<>>& workloads) {
    for (auto next = hangs_.begin(); next != hangs_.end();) {
      const auto folded = next++;
      const auto& [device, workload, kind] = folded->first;
      if (!workloads.contains(workload)) continue;
      hangs_[{device, std::string(WorkloadTable::kOther), kind}] += folded->second;
      hangs_.erase(folded);
    }
  }

  const std::map<Series, std::uint64_t>& series() const { return hangs_; }

 private:
  std::map<std::uint32_t, std::string> now_, before_;  // workloads by PID
  std::map<Series, std::uint64_t> hangs_;
};

}  // namespace igpu
