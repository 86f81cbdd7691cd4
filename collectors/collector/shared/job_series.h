// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "igpu/job.h"
#include "igpu/metric.h"
#include "metric/sample_sink.h"
#include "source/clients.h"
#include "source/job_counts.h"

// What the histograms and counters of jobs have in common, whether they are of a GPU or of a workload.
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

// i915 has no long-running jobs here.
constexpr bool is_possible_outcome(JobSource source, std::size_t outcome) {
  return source != JobSource::i915 || outcome != JOB_LONG_RUNNING;
}

// Of a process that submitted jobs. Its PID may be another process's by now: known if that one uses a GPU, too.
inline bool has_ended(const ProcessJobs& jobs, const ClientSnapshot& snapshot) {
  if (jobs.pid == 0 || snapshot.pids_hidden) return false;
  if (!snapshot.runs(jobs.pid)) return true;
  const ClientProcess* const process = snapshot.process(jobs.pid);
  return process != nullptr && process->start_time_ticks > jobs.start_ticks;
}

}  // namespace igpu
