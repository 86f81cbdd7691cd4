// SPDX-License-Identifier: Apache-2.0
#include "collector/workloads/workloads_jobs.h"

#include "collector/shared/job_series.h"
#include "collector/workloads/workloads_table.h"

namespace igpu {

namespace {

constexpr Nanoseconds kFoundWithin = std::chrono::minutes(1);
constexpr Nanoseconds kWorkloadJobsRemember = std::chrono::minutes(15);
constexpr std::size_t kMostMembers = 65536;

void add_change(JobCounts& sum, const JobCounts& now, const JobCounts& before) {
  for (std::size_t i = 0; i < JOB_OUTCOMES; ++i) sum.outcomes[i] += now.outcomes[i] - before.outcomes[i];
  for (std::size_t i = 0; i < kJobBuckets; ++i) {
    sum.queue[i] += now.queue[i] - before.queue[i];
    sum.run[i] += now.run[i] - before.run[i];
  }
  sum.queue_seconds += now.queue_seconds - before.queue_seconds;
  sum.run_seconds += now.run_seconds - before.run_seconds;
}

}  // namespace

void WorkloadJobs::found(std::uint32_t pid, std::uint64_t start_ticks, std::string_view workload, Nanoseconds now) {
  Member& member = members_[{pid, start_ticks}];
  member.workload = workload;
  member.seen = now;
}

void WorkloadJobs::advance(const CountedJobsByDevice& counters, const ClientSnapshot& snapshot) {
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

void WorkloadJobs::read(const ProcessJobs& jobs, const ClientSnapshot& snapshot, std::map<std::size_t, Group>& groups,
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

void WorkloadJobs::forget_members(const ClientSnapshot& snapshot) {
  const bool crowded = members_.size() > kMostMembers;
  std::erase_if(members_, [&](const auto& entry) {
    const Nanoseconds age = snapshot.time - entry.second.seen;
    return age > kWorkloadJobsRemember || (crowded && age > Nanoseconds::zero());
  });
}

void WorkloadJobs::fold(const std::set<std::string, std::less<>>& workloads) {
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

void WorkloadHangs::begin_scan() {
  before_ = std::move(now_);
  now_.clear();
}

void WorkloadHangs::count(std::span<const ProcessHang> hangs) {
  for (const ProcessHang& hang : hangs) {
    std::string workload(WorkloadTable::kUnattributed);
    for (const auto* const scan : {&before_, &now_})
      if (const auto known = scan->find(hang.pid); known != scan->end()) workload = known->second;
    ++hangs_[{hang.device, std::move(workload), hang.kind}];
  }
}

void WorkloadHangs::fold(const std::set<std::string, std::less<>>& workloads) {
  for (auto next = hangs_.begin(); next != hangs_.end();) {
    const auto folded = next++;
    const auto& [device, workload, kind] = folded->first;
    if (!workloads.contains(workload)) continue;
    hangs_[{device, std::string(WorkloadTable::kOther), kind}] += folded->second;
    hangs_.erase(folded);
  }
}

}  // namespace igpu
