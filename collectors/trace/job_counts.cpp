// SPDX-License-Identifier: Apache-2.0
#include "trace/job_counts.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace igpu {
namespace {

static_assert(kJobBuckets == JOB_BUCKETS);
static_assert(JOB_RUN + JOB_BUCKETS <= JOB_GROUP_SLOTS && JOB_QUEUE + JOB_BUCKETS <= JOB_RUN);
static_assert(JOB_RUN + JOB_BUCKETS <= JOB_SUBMITTED && JOB_FREE_GROUP < JOB_GROUP_SLOTS);
static_assert(JOB_OUTCOME + JOB_OUTCOMES <= JOB_QUEUE_NS);
static_assert(static_cast<int>(JobOutcome::completed) == JOB_COMPLETED &&
              static_cast<int>(JobOutcome::bound) == JOB_BOUND &&
              static_cast<int>(JobOutcome::long_running) == JOB_LONG_RUNNING &&
              static_cast<int>(JobOutcome::error) == JOB_ERROR && static_cast<int>(JobOutcome::evicted) == JOB_EVICTED);
static_assert(static_cast<int>(JobSource::drm_sched) == JOB_SOURCE_DRM_SCHED &&
              static_cast<int>(JobSource::i915) == JOB_SOURCE_I915);
static_assert(static_cast<int>(JobClass::render) == JOB_CLASS_RENDER &&
              static_cast<int>(JobClass::copy) == JOB_CLASS_COPY &&
              static_cast<int>(JobClass::video) == JOB_CLASS_VIDEO &&
              static_cast<int>(JobClass::video_enhance) == JOB_CLASS_VIDEO_ENHANCE &&
              static_cast<int>(JobClass::compute) == JOB_CLASS_COMPUTE &&
              static_cast<int>(JobClass::other) == JOB_CLASS_OTHER);

std::uint64_t load_slot(const std::uint64_t& slot) { return __atomic_load_n(&slot, __ATOMIC_RELAXED); }

double seconds(const std::uint64_t& nanoseconds) { return static_cast<double>(load_slot(nanoseconds)) * 1e-9; }

// The name is written once, before the group is known to be in use.
std::string_view device_of(const std::uint64_t* group) {
  const char* const name = reinterpret_cast<const char*>(group + JOB_DEVICE);
  return {name, ::strnlen(name, JOB_DEVICE_SIZE)};
}

void read_counts(const std::uint64_t* group, std::uint64_t kind, JobCounts& counts) {
  counts.source = ((kind >> JOB_KIND_SOURCE) & 0xff) == JOB_SOURCE_I915 ? JobSource::i915 : JobSource::drm_sched;
  counts.engine_class = static_cast<JobClass>(std::min<std::uint64_t>(kind & 0xff, JOB_CLASS_OTHER));
  for (std::size_t i = 0; i < JOB_OUTCOMES; ++i) counts.outcomes[i] = load_slot(group[JOB_OUTCOME + i]);
  for (std::size_t i = 0; i < JOB_BUCKETS; ++i) {
    counts.queue[i] = load_slot(group[JOB_QUEUE + i]);
    counts.run[i] = load_slot(group[JOB_RUN + i]);
  }
  counts.queue_seconds = seconds(group[JOB_QUEUE_NS]);
  counts.run_seconds = seconds(group[JOB_RUN_NS]);
}

std::uint64_t kind_of(const std::uint64_t* group) { return __atomic_load_n(&group[JOB_KIND], __ATOMIC_ACQUIRE); }

constexpr std::uint64_t kNsPerTick = 10'000'000;  // USER_HZ

}  // namespace

std::vector<JobCounts> read_job_counts(JobSlots slots, std::string_view device) {
  std::vector<JobCounts> found;
  for (std::size_t number = 1; number < JOB_GROUPS; ++number) {
    const std::uint64_t* const group = slots.data() + number * JOB_GROUP_SLOTS;
    const std::uint64_t kind = kind_of(group);
    if ((kind & JOB_KIND_KNOWN) == 0 || device_of(group) != device) continue;
    read_counts(group, kind, found.emplace_back());
  }
  std::ranges::sort(found, [](const JobCounts& a, const JobCounts& b) {
    return std::pair(a.engine_class, a.source) < std::pair(b.engine_class, b.source);
  });
  return found;
}

LostJobEvents read_lost_job_events(JobSlots slots) {
  return {load_slot(slots[JOB_LOST_UNMATCHED]), load_slot(slots[JOB_LOST_TABLE_FULL])};
}

ProcessJobSlots::ProcessJobSlots(std::span<std::uint64_t> slots)
    : slots_(slots.first(slots.size() - slots.size() % JOB_GROUP_SLOTS)) {}

void ProcessJobSlots::for_each(const std::function<void(const ProcessJobs&)>& f) {
  if (slots_.empty()) return;
  const std::uint64_t used = load_slot(slots_[JOB_PROCESS_GROUPS_USED]);
  const std::size_t groups = slots_.size() / JOB_GROUP_SLOTS;
  ProcessJobs jobs;
  for (std::size_t number = 1; number < groups && number <= used; ++number) {
    const std::uint64_t* const group = group_at(number);
    const std::uint64_t kind = kind_of(group);
    if ((kind & JOB_KIND_ABANDONED) != 0) free(number);
    if ((kind & JOB_KIND_KNOWN) == 0) continue;
    jobs.group = number;
    jobs.pid = static_cast<std::uint32_t>(load_slot(group[JOB_PROCESS]));
    jobs.start_ticks = load_slot(group[JOB_BORN]) / kNsPerTick;
    jobs.device = device_of(group);
    read_counts(group, kind, jobs.counts);
    const auto& outcomes = jobs.counts.outcomes;
    jobs.in_flight =
        load_slot(group[JOB_SUBMITTED]) != std::accumulate(outcomes.begin(), outcomes.end(), std::uint64_t{0});
    f(jobs);
  }
}

void ProcessJobSlots::free(std::size_t number) {
  std::uint64_t* const group = group_at(number);
  // What the kernel needs to forget its process stays: the device, the class and the source, the PID and its start.
  for (std::size_t i = JOB_OUTCOME; i <= JOB_SUBMITTED; ++i) __atomic_store_n(&group[i], 0, __ATOMIC_RELAXED);
  __atomic_store_n(&group[JOB_KIND], group[JOB_KIND] & (JOB_KIND_KNOWN - 1), __ATOMIC_RELEASE);
  std::uint64_t* const head = group_at(0);
  const std::uint64_t added = head[JOB_FREE_ADDED];
  const std::size_t groups = slots_.size() / JOB_GROUP_SLOTS;
  __atomic_store_n(&group_at(added % groups)[JOB_FREE_GROUP], number, __ATOMIC_RELAXED);
  __atomic_store_n(&head[JOB_FREE_ADDED], added + 1, __ATOMIC_RELEASE);
}

}  // namespace igpu
