// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "collector/collector.h"
#include "trace/job_counts.h"

namespace igpu {

// Video jobs by process, for the collector `jobs`. The kernel counts the jobs, and the names come from the scan of
// processes that all collectors share, so this adds no system call.
class VideoJobs final : public MachineCollector {
 public:
  static std::unique_ptr<MachineCollector> create(const MachineContext& context);

  void collect(MachinePass& pass, SampleSink& out) override;

 private:
  // Frees the groups of processes that have ended, also those of GPUs that are not monitored.
  void free_ended(const JobCounters& counters, const ClientSnapshot& snapshot);

  std::map<const JobCounters*, std::map<std::size_t, JobCounts>> seen_;  // at the last scrape, by group
};

}  // namespace igpu
