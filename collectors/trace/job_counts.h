// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "igpu/job.h"
#include "machine/bpf/job_slots.h"

namespace igpu {

// What the kernel counted for one device and class (machine/bpf/job_slots.h).
struct JobCounts {
  JobSource source = JobSource::drm_sched;
  JobClass engine_class = JobClass::other;
  std::array<std::uint64_t, JOB_OUTCOMES> outcomes{};  // in the order of JobOutcome
  std::array<std::uint64_t, kJobBuckets> queue{}, run{};
  double queue_seconds = 0, run_seconds = 0;

  // Jobs whose work was done as far as the kernel shows: neither reset nor lost.
  std::uint64_t done() const { return outcomes[JOB_COMPLETED] + outcomes[JOB_BOUND] + outcomes[JOB_LONG_RUNNING]; }

  bool operator==(const JobCounts&) const = default;
};

// The jobs of one process, device, class and source.
struct ProcessJobs {
  std::size_t group = 0;          // index of the group in the kernel's table
  std::uint32_t pid = 0;          // 0: all processes for which the kernel's table had no room
  std::uint64_t start_ticks = 0;  // as /proc/<pid>/stat has it
  std::string_view device;
  JobCounts counts;
  bool in_flight = false;  // some of them have not ended
};

struct LostJobEvents {
  std::uint64_t unmatched = 0;   // events of jobs that were not seen from their submission on
  std::uint64_t table_full = 0;  // submissions for which the kernel's table had no room
};

using JobSlots = std::span<const std::uint64_t, JOB_SLOTS>;

// Sorted by class. The kernel may write at the same time: a job may be counted in its outcome and not yet in a
// histogram.
std::vector<JobCounts> read_job_counts(JobSlots slots, std::string_view device);
LostJobEvents read_lost_job_events(JobSlots slots);

// Reads JobCounters::process_slots().
class ProcessJobSlots {
 public:
  explicit ProcessJobSlots(std::span<std::uint64_t> slots);
  void for_each(const std::function<void(const ProcessJobs&)>& f);
  // Lets the kernel use the group for another process. Call it after the process has ended, when none of its jobs is in
  // flight.
  void free(std::size_t group);

 private:
  std::uint64_t* group_at(std::size_t number) { return slots_.data() + number * JOB_GROUP_SLOTS; }
  std::span<std::uint64_t> slots_;
};

}  // namespace igpu
