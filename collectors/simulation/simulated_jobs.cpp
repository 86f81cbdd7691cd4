// SPDX-License-Identifier: Apache-2.0
#include "simulation/simulated_jobs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "igpu/job.h"

namespace igpu::simulation {
namespace {

static_assert(static_cast<int>(EngineClass::render) == JOB_CLASS_RENDER &&
              static_cast<int>(EngineClass::copy) == JOB_CLASS_COPY &&
              static_cast<int>(EngineClass::video) == JOB_CLASS_VIDEO &&
              static_cast<int>(EngineClass::video_enhance) == JOB_CLASS_VIDEO_ENHANCE &&
              static_cast<int>(EngineClass::compute) == JOB_CLASS_COMPUTE && kEngineClasses == JOB_CLASS_OTHER);

// By class: how long most jobs take.
constexpr std::array<std::uint64_t, kEngineClasses> kTypicalNs{2'500'000, 180'000, 4'200'000, 1'100'000, 9'000'000};

// Of a hundred jobs, those of half the typical length, of the length itself, of twice and of four times that length.
constexpr std::array<std::uint64_t, 4> kPerHundred{25, 55, 16, 4};
constexpr std::uint64_t kHundredJobs = 25 / 2 + 55 + 16 * 2 + 4 * 4;  // in typical lengths

constexpr double kSecondNs = 1e9;
constexpr std::uint64_t kBoundOneIn = 8;

// A part of jobs, so that all parts together are all of them.
std::uint64_t part(std::uint64_t jobs, std::size_t index) {
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < index; ++i) before += kPerHundred[i];
  return jobs * (before + kPerHundred[index]) / 100 - jobs * before / 100;
}

// As in a queue before one server: run time * use / (1 - use).
std::uint64_t typical_wait_ns(std::uint64_t run_ns, double use) {
  const double bounded = std::clamp(use, 0.01, 0.95);
  return static_cast<std::uint64_t>(static_cast<double>(run_ns) * bounded / (1 - bounded));
}

// The middle of a bucket stands for its jobs.
std::uint64_t middle_ns(std::size_t bucket) { return std::uint64_t{12'000} << bucket; }

struct Second {
  std::uint64_t jobs = 0, bound = 0;
  std::array<std::uint64_t, JOB_BUCKETS> queue{}, run{};
};

Second second_of(const GpuScript& gpu, EngineClass engine_class, std::size_t k) {
  std::uint64_t busy_ns = 0, engines = 0;
  for (const EngineScript& engine : gpu.engines) {
    if (engine.model.engine_class != engine_class) continue;
    busy_ns += engine.busy.at_second(k);
    ++engines;
  }
  Second second;
  if (engines == 0) return second;
  const std::uint64_t typical = kTypicalNs[static_cast<std::size_t>(engine_class)];
  const std::uint64_t all = busy_ns * 100 / (typical * kHundredJobs);
  if (gpu.model.driver == Driver::i915) second.bound = all / kBoundOneIn;
  second.jobs = all - second.bound;
  const double use = static_cast<double>(busy_ns) / (kSecondNs * static_cast<double>(engines));
  const std::uint64_t wait = typical_wait_ns(typical, use);
  for (std::size_t i = 0; i < kPerHundred.size(); ++i) {
    second.run[job_bucket((typical << i) / 2)] += part(second.jobs, i);
    second.queue[job_bucket((wait << i) / 2)] += part(second.jobs, i);
  }
  return second;
}

std::uint64_t of_group(std::size_t number) { return number * JOB_GROUP_SLOTS; }

}  // namespace

ClassJobs::ClassJobs(const GpuScript& gpu, EngineClass engine_class) {
  std::vector<Second> seconds(Course::kPeriod);
  for (std::size_t k = 0; k < seconds.size(); ++k) seconds[k] = second_of(gpu, engine_class, k);
  bound = Course::from([&](std::size_t k) { return seconds[k].bound; });
  for (std::size_t i = 0; i < JOB_BUCKETS; ++i) {
    queue[i] = Course::from([&](std::size_t k) { return seconds[k].queue[i]; });
    run[i] = Course::from([&](std::size_t k) { return seconds[k].run[i]; });
  }
}

SimulatedJobCounters::SimulatedJobCounters(const MachineScript& script, JobDriver driver) {
  for (const GpuScript& gpu : script.gpus) {
    if ((gpu.model.driver == Driver::i915) != (driver == JobDriver::i915)) continue;
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      const auto engine_class = static_cast<EngineClass>(i);
      const bool used = std::any_of(gpu.engines.begin(), gpu.engines.end(), [&](const EngineScript& engine) {
        return engine.model.engine_class == engine_class && engine.busy.maximum() > 0;
      });
      if (!used) continue;
      const std::size_t first = of_group(groups_.size() + 1);
      const auto source =
          static_cast<std::uint64_t>(driver == JobDriver::i915 ? JOB_SOURCE_I915 : JOB_SOURCE_DRM_SCHED);
      std::memcpy(&slots_[first + JOB_DEVICE], gpu.address.data(),
                  std::min<std::size_t>(gpu.address.size(), JOB_DEVICE_SIZE - 1));
      slots_[first + JOB_KIND] = JOB_KIND_KNOWN | source << JOB_KIND_SOURCE | i;
      groups_.push_back({first, ClassJobs(gpu, engine_class)});
    }
  }
  slots_[JOB_GROUPS_USED] = groups_.size();
}

void SimulatedJobCounters::set(std::size_t slot, std::uint64_t value) {
  __atomic_store_n(&slots_[slot], value, __ATOMIC_RELAXED);
}

void SimulatedJobCounters::advance_to(ScriptTime now) {
  const std::lock_guard lock(mutex_);
  if (now <= now_) return;
  now_ = now;
  for (const Group& group : groups_) {
    const std::size_t first = group.first_slot;
    std::uint64_t completed = 0, queue_ns = 0, run_ns = 0;
    for (std::size_t i = 0; i < JOB_BUCKETS; ++i) {
      const std::uint64_t waited = group.jobs.queue[i].integral(now), ran = group.jobs.run[i].integral(now);
      completed += ran;
      queue_ns += waited * middle_ns(i);
      run_ns += ran * middle_ns(i);
      set(first + JOB_QUEUE + i, waited);
      set(first + JOB_RUN + i, ran);
    }
    set(first + JOB_OUTCOME + JOB_COMPLETED, completed);
    set(first + JOB_OUTCOME + JOB_BOUND, group.jobs.bound.integral(now));
    set(first + JOB_QUEUE_NS, queue_ns);
    set(first + JOB_RUN_NS, run_ns);
  }
}

SimulatedJobs::SimulatedJobs(const MachineScript& script, const ScriptClock& clock)
    : script_(script), clock_(clock), scheduler_(script, JobDriver::drm_sched), i915_(script, JobDriver::i915) {}

Reading<const JobCounters*> SimulatedJobs::get(JobDriver driver, Nanoseconds now) {
  if (!script_.privileged) return Absent{Reason::permission, EPERM};
  SimulatedJobCounters& counters = driver == JobDriver::i915 ? i915_ : scheduler_;
  counters.advance_to(clock_.at(now));
  return static_cast<const JobCounters*>(&counters);
}

}  // namespace igpu::simulation
