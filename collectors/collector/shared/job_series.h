// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "igpu/job.h"
#include "igpu/metric.h"
#include "kernel/clients/clients.h"
#include "metric/sample_sink.h"
#include "trace/job_counts.h"

// Bounds and labels shared by the histograms and counters of jobs, for GPUs and for workloads.
namespace igpu {

// 2^4 us to 2^24 us: 16 us to 16.8 s.
inline constexpr std::array<double, kJobBuckets - 1> kJobBounds = [] {
  std::array<double, kJobBuckets - 1> bounds{};
  double microseconds = 16;
  for (double& bound : bounds) {
    bound = microseconds / 1e6;
    microseconds *= 2;
  }
  return bounds;
}();

inline constexpr std::array<std::string_view, JOB_OUTCOMES> kJobOutcomes{"completed", "bound", "long_running", "error",
                                                                         "evicted"};

// i915 reports no long-running jobs.
constexpr bool is_possible_outcome(JobSource source, std::size_t outcome) {
  return source != JobSource::i915 || outcome != JOB_LONG_RUNNING;
}

// Whether the process that submitted the jobs has ended. A reused PID is detected only if the new process uses a GPU,
// too.
inline bool has_ended(const ProcessJobs& jobs, const ClientSnapshot& snapshot) {
  if (jobs.pid == 0 || snapshot.pids_hidden) return false;
  if (!snapshot.runs(jobs.pid)) return true;
  const ClientProcess* const process = snapshot.process(jobs.pid);
  return process != nullptr && process->start_time_ticks > jobs.start_ticks;
}

}  // namespace igpu
