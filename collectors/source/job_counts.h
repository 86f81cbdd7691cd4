// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "igpu/job.h"
#include "machine/bpf/job_slots.h"

namespace igpu {

// What the kernel counted, machine/bpf/job_slots.h, for one device.
struct JobCounts {
  JobSource source = JobSource::drm_sched;
  JobClass engine_class = JobClass::other;
  std::array<std::uint64_t, JOB_OUTCOMES> outcomes{};  // in the order of JobOutcome
  std::array<std::uint64_t, kJobBuckets> queue{}, run{};
  double queue_seconds = 0, run_seconds = 0;
};

struct LostJobEvents {
  std::uint64_t unmatched = 0;   // events of jobs that were not seen from their submission on
  std::uint64_t table_full = 0;  // submissions for which the kernel's table had no room
};

using JobSlots = std::span<const std::uint64_t, JOB_SLOTS>;

// Sorted by class. The kernel writes while this reads: a job may be in its outcome's counter and not yet in a
// histogram.
std::vector<JobCounts> read_job_counts(JobSlots slots, std::string_view device);
LostJobEvents read_lost_job_events(JobSlots slots);

}  // namespace igpu
