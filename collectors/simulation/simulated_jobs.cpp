// SPDX-License-Identifier: Apache-2.0
#include "simulation/simulated_jobs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

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

// Jobs that keep engines busy for that time, in a class of which all together use so much.
Second second_of(const GpuScript& gpu, EngineClass engine_class, std::uint64_t busy_ns, double use) {
  Second second;
  const std::uint64_t typical = kTypicalNs[static_cast<std::size_t>(engine_class)];
  const std::uint64_t all = busy_ns * 100 / (typical * kHundredJobs);
  if (gpu.model.driver == Driver::i915) second.bound = all / kBoundOneIn;
  second.jobs = all - second.bound;
  const std::uint64_t wait = typical_wait_ns(typical, use);
  for (std::size_t i = 0; i < kPerHundred.size(); ++i) {
    second.run[job_bucket((typical << i) / 2)] += part(second.jobs, i);
    second.queue[job_bucket((wait << i) / 2)] += part(second.jobs, i);
  }
  return second;
}

bool is_of(const EngineScript& engine, EngineClass engine_class) { return engine.model.engine_class == engine_class; }

Course busy_of(const GpuScript& gpu, EngineClass engine_class) {
  Course busy;
  for (const EngineScript& engine : gpu.engines)
    if (is_of(engine, engine_class)) busy += engine.busy;
  return busy;
}

void set(std::uint64_t& slot, std::uint64_t value) { __atomic_store_n(&slot, value, __ATOMIC_RELAXED); }

void begin_group(std::uint64_t* slots, const GpuScript& gpu, std::uint64_t kind) {
  std::memcpy(&slots[JOB_DEVICE], gpu.address.data(), std::min<std::size_t>(gpu.address.size(), JOB_DEVICE_SIZE - 1));
  slots[JOB_KIND] = kind;
}

}  // namespace

ClassJobs::ClassJobs(const GpuScript& gpu, EngineClass engine_class)
    : ClassJobs(gpu, engine_class, busy_of(gpu, engine_class)) {}

ClassJobs::ClassJobs(const GpuScript& gpu, EngineClass engine_class, const Course& busy) {
  const auto engines = static_cast<double>(std::count_if(
      gpu.engines.begin(), gpu.engines.end(), [&](const EngineScript& e) { return is_of(e, engine_class); }));
  const Course all = busy_of(gpu, engine_class);
  std::vector<Second> seconds(Course::kPeriod);
  for (std::size_t k = 0; k < seconds.size(); ++k)
    seconds[k] = second_of(gpu, engine_class, busy.at_second(k),
                           static_cast<double>(all.at_second(k)) / (kSecondNs * std::max(engines, 1.0)));
  bound = Course::from([&](std::size_t k) { return seconds[k].bound; });
  for (std::size_t i = 0; i < JOB_BUCKETS; ++i) {
    queue[i] = Course::from([&](std::size_t k) { return seconds[k].queue[i]; });
    run[i] = Course::from([&](std::size_t k) { return seconds[k].run[i]; });
  }
}

SimulatedJobCounters::SimulatedJobCounters(const MachineScript& script, JobDriver driver)
    : process_slots_(JOB_PROCESS_SLOTS) {
  std::size_t used = 0;
  for (std::size_t number = 0; number < script.gpus.size(); ++number) {
    const GpuScript& gpu = script.gpus[number];
    if ((gpu.model.driver == Driver::i915) != (driver == JobDriver::i915)) continue;
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      const auto engine_class = static_cast<EngineClass>(i);
      if (busy_of(gpu, engine_class).maximum() == 0) continue;
      const auto source =
          static_cast<std::uint64_t>(driver == JobDriver::i915 ? JOB_SOURCE_I915 : JOB_SOURCE_DRM_SCHED);
      const std::uint64_t kind = JOB_KIND_KNOWN | source << JOB_KIND_SOURCE | i;
      std::uint64_t* const slots = &slots_[++used * JOB_GROUP_SLOTS];
      begin_group(slots, gpu, kind);
      groups_.push_back({slots, ClassJobs(gpu, engine_class)});
      add_processes(script, number, engine_class, kind);
    }
  }
  slots_[JOB_GROUPS_USED] = used;
}

void SimulatedJobCounters::add_processes(const MachineScript& script, std::size_t gpu, EngineClass engine_class,
                                         std::uint64_t kind) {
  std::map<std::uint32_t, Course> busy;  // by PID
  for (const ClientScript& client : script.clients) {
    if (client.gpu != gpu) continue;
    for (const auto& [engine, used] : client.engines)
      if (is_of(script.gpus[gpu].engines[engine], engine_class)) busy[client.pid] += used;
  }
  for (const auto& [pid, course] : busy) {
    const ProcessScript* const process = script.process(pid);
    if (process == nullptr || process_slots_[JOB_PROCESS_GROUPS_USED] + 1 >= JOB_PROCESS_GROUPS) continue;
    std::uint64_t* const slots = &process_slots_[++process_slots_[JOB_PROCESS_GROUPS_USED] * JOB_GROUP_SLOTS];
    begin_group(slots, script.gpus[gpu], kind);
    slots[JOB_PROCESS] = pid;
    groups_.push_back({slots, ClassJobs(script.gpus[gpu], engine_class, course), process});
  }
}

void SimulatedJobCounters::write(const Group& group, ScriptTime now) {
  std::uint64_t* const slots = group.slots;
  std::uint64_t completed = 0, queue_ns = 0, run_ns = 0;
  for (std::size_t i = 0; i < JOB_BUCKETS; ++i) {
    const std::uint64_t waited = group.jobs.queue[i].integral(now), ran = group.jobs.run[i].integral(now);
    completed += ran;
    queue_ns += waited * middle_ns(i);
    run_ns += ran * middle_ns(i);
    set(slots[JOB_QUEUE + i], waited);
    set(slots[JOB_RUN + i], ran);
  }
  const std::uint64_t bound = group.jobs.bound.integral(now);
  set(slots[JOB_OUTCOME + JOB_COMPLETED], completed);
  set(slots[JOB_OUTCOME + JOB_BOUND], bound);
  set(slots[JOB_QUEUE_NS], queue_ns);
  set(slots[JOB_RUN_NS], run_ns);
  if (group.process == nullptr) return;
  // A process that begins again and again is one group here: with a job in flight it is not freed.
  set(slots[JOB_BORN], static_cast<std::uint64_t>(group.process->life.began(now).count()));
  set(slots[JOB_SUBMITTED], completed + bound + 1);
}

void SimulatedJobCounters::advance_to(ScriptTime now) {
  const std::lock_guard lock(mutex_);
  if (now <= now_) return;
  now_ = now;
  for (const Group& group : groups_) write(group, now);
}

SimulatedJobs::SimulatedJobs(const MachineScript& script, const ScriptClock& clock) : script_(script), clock_(clock) {}

Reading<const JobCounters*> SimulatedJobs::get(JobDriver driver, Nanoseconds now) {
  if (!script_.privileged) return Absent{Reason::permission, EPERM};
  std::unique_ptr<SimulatedJobCounters>& counters = driver == JobDriver::i915 ? i915_ : scheduler_;
  const std::lock_guard lock(mutex_);
  if (!counters) counters = std::make_unique<SimulatedJobCounters>(script_, driver);
  counters->advance_to(clock_.at(now));
  return static_cast<const JobCounters*>(counters.get());
}

}  // namespace igpu::simulation
