// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <numeric>

#include "fake/simulation/simulated_parts.h"
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
constexpr std::uint64_t kTwoHundredJobs = 25 + 2 * (55 + 16 * 2 + 4 * 4);  // in typical lengths

constexpr double kSecondNs = 1e9;
constexpr std::uint64_t kBoundOneIn = 8;

// Of the first so many jobs those of one length; all lengths together are all jobs.
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

// Jobs that one process submits to one class of engines: the engine time of the script, divided into jobs of a typical
// length. The more of the engines is in use, the longer a job waits.
struct ClassJobs {
  // busy: what the process uses, busy_of_all: what all use, in ns per second. number: of jobs per second, equally long
  // in each second; null: they have typical lengths.
  ClassJobs(const GpuScript& gpu, EngineClass engine_class, const Course& busy, const Course& busy_of_all,
            const Course* number);

  // Jobs per second; indices are those of the histograms. Every eighth job of i915 is one that nobody waits for.
  std::array<Course, JOB_BUCKETS> queue, run;
  Course bound;
  Course queue_ns, run_ns;  // per second
};

// What is counted of a second follows from all jobs up to then: a fraction of a job goes on in the next second.
ClassJobs::ClassJobs(const GpuScript& gpu, EngineClass engine_class, const Course& busy, const Course& busy_of_all,
                     const Course* number) {
  const auto engines = static_cast<double>(
      std::ranges::count_if(gpu.engines, [&](const EngineScript& e) { return is_of(e, engine_class); }));
  const std::uint64_t typical = kTypicalNs[static_cast<std::size_t>(engine_class)];
  std::array<std::array<std::uint64_t, Course::kPeriod>, JOB_BUCKETS> waited{}, ran{};
  std::array<std::uint64_t, Course::kPeriod> bound_jobs{}, waited_ns{}, ran_ns{};
  std::uint64_t busy_so_far = 0, all_before = 0;
  const auto bound_of = [&](std::uint64_t jobs) {
    return gpu.model.driver == Driver::i915 ? jobs / kBoundOneIn : std::uint64_t{0};
  };
  for (std::size_t k = 0; k < Course::kPeriod; ++k) {
    busy_so_far += busy.at_second(k);
    const std::uint64_t all =
        number != nullptr ? all_before + number->at_second(k) : busy_so_far * 200 / (typical * kTwoHundredJobs);
    bound_jobs[k] = bound_of(all) - bound_of(all_before);
    const double use = static_cast<double>(busy_of_all.at_second(k)) / (kSecondNs * std::max(engines, 1.0));
    const auto count = [&](std::uint64_t jobs, std::uint64_t length, std::uint64_t waiting) {
      ran[job_bucket(length)][k] += jobs;
      waited[job_bucket(waiting)][k] += jobs;
      ran_ns[k] += jobs * length;
      waited_ns[k] += jobs * waiting;
    };
    if (number != nullptr) {
      const std::uint64_t length = busy.at_second(k) / std::max<std::uint64_t>(all - all_before, 1);
      count(all - all_before - bound_jobs[k], length, typical_wait_ns(length, use));
    } else {
      const std::uint64_t wait = typical_wait_ns(typical, use);
      for (std::size_t i = 0; i < kPerHundred.size(); ++i)
        count(part(all - bound_of(all), i) - part(all_before - bound_of(all_before), i), (typical << i) / 2,
              (wait << i) / 2);
    }
    all_before = all;
  }
  const auto course = [](const auto& seconds) { return Course::from([&](std::size_t k) { return seconds[k]; }); };
  bound = course(bound_jobs);
  queue_ns = course(waited_ns);
  run_ns = course(ran_ns);
  for (std::size_t i = 0; i < JOB_BUCKETS; ++i) {
    queue[i] = course(waited[i]);
    run[i] = course(ran[i]);
  }
}

}  // namespace

class SimulatedJobCounters final : public JobCounters {
 public:
  SimulatedJobCounters(const MachineScript& script, JobDriver driver);
  void advance_to(ScriptTime now);

  std::span<const std::uint64_t, JOB_SLOTS> slots() const override { return slots_; }
  std::span<std::uint64_t> process_slots() const override { return process_slots_; }
  Reading<std::uint64_t> recursion_misses() const override { return std::uint64_t{0}; }

 private:
  struct Part {
    std::uint64_t* slots;  // of a process, or of the kernel
    ClassJobs jobs;
    const ProcessScript* process = nullptr;
  };
  struct Group {
    std::uint64_t* slots;  // of the device: the sum of the parts
    std::vector<Part> parts;
  };
  void add_processes(const MachineScript& script, std::size_t gpu, EngineClass engine_class, std::uint64_t kind);
  static void write(const Part& part, ScriptTime now);

  std::array<std::uint64_t, JOB_SLOTS> slots_{};
  mutable std::vector<std::uint64_t> process_slots_;
  std::vector<Group> groups_;
  std::mutex mutex_;
  ScriptTime now_{-1};
};

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
      groups_.push_back({slots, {}});
      add_processes(script, number, engine_class, kind);
    }
  }
  slots_[JOB_GROUPS_USED] = used;
}

// What no process uses, the kernel submits itself.
void SimulatedJobCounters::add_processes(const MachineScript& script, std::size_t gpu, EngineClass engine_class,
                                         std::uint64_t kind) {
  const Course all = busy_of(script.gpus[gpu], engine_class);
  Course by_processes;
  std::map<std::uint32_t, Course> busy;  // by PID
  for (const ClientScript& client : script.clients) {
    if (client.gpu != gpu) continue;
    for (const auto& [engine, used] : client.engines) {
      if (!is_of(script.gpus[gpu].engines[engine], engine_class)) continue;
      busy[client.pid] += used;
      by_processes += used;
    }
  }
  busy[0] = Course::from([&](std::size_t k) { return all.at_second(k) - by_processes.at_second(k); });
  for (const auto& [pid, course] : busy) {
    if (process_slots_[JOB_PROCESS_GROUPS_USED] + 1 >= JOB_PROCESS_GROUPS) return;
    std::uint64_t* const slots = &process_slots_[++process_slots_[JOB_PROCESS_GROUPS_USED] * JOB_GROUP_SLOTS];
    begin_group(slots, script.gpus[gpu], kind);
    slots[JOB_PROCESS] = pid;
    const auto channel = std::ranges::find_if(
        script.channels, [pid = pid, gpu](const ChannelScript& one) { return one.pid == pid && one.gpu == gpu; });
    const bool is_channel = engine_class == EngineClass::video && channel != script.channels.end();
    groups_.back().parts.push_back(
        {slots, ClassJobs(script.gpus[gpu], engine_class, course, all, is_channel ? &channel->video_jobs : nullptr),
         script.process(pid)});
  }
}

void SimulatedJobCounters::write(const Part& part, ScriptTime now) {
  std::uint64_t* const slots = part.slots;
  std::uint64_t completed = 0;
  for (std::size_t i = 0; i < JOB_BUCKETS; ++i) {
    const std::uint64_t ran = part.jobs.run[i].integral(now);
    completed += ran;
    set(slots[JOB_QUEUE + i], part.jobs.queue[i].integral(now));
    set(slots[JOB_RUN + i], ran);
  }
  const std::uint64_t bound = part.jobs.bound.integral(now);
  set(slots[JOB_OUTCOME + JOB_COMPLETED], completed);
  set(slots[JOB_OUTCOME + JOB_BOUND], bound);
  set(slots[JOB_QUEUE_NS], part.jobs.queue_ns.integral(now));
  set(slots[JOB_RUN_NS], part.jobs.run_ns.integral(now));
  // A process that begins again and again is one group here: with a job in flight it is not freed.
  set(slots[JOB_SUBMITTED], completed + bound + 1);
  if (part.process != nullptr) set(slots[JOB_BORN], static_cast<std::uint64_t>(part.process->life.began(now).count()));
}

void SimulatedJobCounters::advance_to(ScriptTime now) {
  const std::lock_guard lock(mutex_);
  if (now <= now_) return;
  now_ = now;
  for (const Group& group : groups_) {
    for (const Part& part : group.parts) write(part, now);
    for (std::size_t i = JOB_OUTCOME; i < JOB_SUBMITTED; ++i)
      set(group.slots[i], std::accumulate(group.parts.begin(), group.parts.end(), std::uint64_t{0},
                                          [i](std::uint64_t sum, const Part& part) { return sum + part.slots[i]; }));
  }
}

SimulatedJobs::SimulatedJobs(const World& world) : world_(world) {}
SimulatedJobs::~SimulatedJobs() = default;

Reading<const JobCounters*> SimulatedJobs::get(JobDriver driver, Nanoseconds now) {
  if (!world_.script.privileged) return Absent{Reason::permission, EPERM};
  std::unique_ptr<SimulatedJobCounters>& counters = driver == JobDriver::i915 ? i915_ : scheduler_;
  const std::lock_guard lock(mutex_);
  if (!counters) counters = std::make_unique<SimulatedJobCounters>(world_.script, driver);
  counters->advance_to(world_.clock.at(now));
  return static_cast<const JobCounters*>(counters.get());
}

}  // namespace igpu::simulation
