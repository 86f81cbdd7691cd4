// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs/jobs_video.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "collector/jobs/jobs.h"
#include "collector/jobs/jobs_facts.h"
#include "collector/shared/job_series.h"

namespace igpu {

std::unique_ptr<MachineCollector> VideoJobs::create(const MachineContext&) { return std::make_unique<VideoJobs>(); }

void VideoJobs::collect(MachinePass& pass, SampleSink& out) {
  const auto counters = pass.facts().by_device<CountedJobs>();
  if (counters.empty()) return;
  const auto clients = pass.clients();
  if (!clients) {
    if (clients.is_failure()) out.failed(clients.failure());
    return;
  }
  const ClientSnapshot& snapshot = **clients;
  std::set<const JobCounters*> distinct;  // GPUs of one driver share them
  for (const auto& [device, of_driver] : counters) distinct.insert(of_driver.counters);
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> jobs_of;  // by device and PID
  for (const JobCounters* const one : distinct) {
    ProcessJobSlots(one->process_slots()).for_each([&](const ProcessJobs& jobs) {
      if (jobs.counts.engine_class != JobClass::video) return;
      const ClientProcess* const process = snapshot.process(jobs.pid);
      // The PID may be that of another process by now, or of another namespace.
      if (process == nullptr || process->start_time_ticks != jobs.start_ticks) return;
      const auto device = counters.find(std::string(jobs.device));
      if (device == counters.end() || device->second.counters != one) return;
      jobs_of[{device->first, jobs.pid}] += jobs.counts.done();
    });
    if (!one->all_classes()) free_ended(*one, snapshot);
  }
  for (const auto& [key, jobs] : jobs_of)
    out.add(JobsCollector::kProcessVideoJobs,
            {key.first, std::to_string(key.second), snapshot.process(key.second)->comm},
            Count{static_cast<double>(jobs)});
}

void VideoJobs::free_ended(const JobCounters& counters, const ClientSnapshot& snapshot) {
  auto& seen = seen_[&counters];
  std::map<std::size_t, JobCounts> now;
  ProcessJobSlots slots(counters.process_slots());
  slots.for_each([&](const ProcessJobs& jobs) {
    if (!has_ended(jobs, snapshot)) return;
    const auto before = seen.find(jobs.group);
    // The kernel may still count a job that has just ended: a group is complete if it stands still.
    if (before != seen.end() && !jobs.in_flight && before->second == jobs.counts)
      slots.free(jobs.group);
    else
      now[jobs.group] = jobs.counts;
  });
  seen = std::move(now);
}

}  // namespace igpu
