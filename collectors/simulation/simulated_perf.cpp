// SPDX-License-Identifier: Apache-2.0
#include "simulation/simulated_perf.h"

#include <algorithm>
#include <cerrno>
#include <functional>

namespace igpu::simulation {

namespace {

using Count = std::function<std::uint64_t(ScriptTime)>;

// What an event counts, or the errno with which the driver rejects it.
struct Counting {
  Count count;
  int error = 0;
  bool adds_at_each_read = false;  // xe's frequencies: each read adds the current value
};

Counting refuse(int error) { return {nullptr, error, false}; }

Counting integral_of(const Course& course, std::uint64_t divisor = 1) {
  return {[&course, divisor](ScriptTime t) { return course.integral(t) / divisor; }};
}

const EngineScript* find_engine(const GpuScript& gpu, std::uint64_t engine_class, std::uint64_t instance) {
  const auto at = std::find_if(gpu.engines.begin(), gpu.engines.end(), [&](const EngineScript& engine) {
    return static_cast<std::uint64_t>(engine.model.engine_class) == engine_class && engine.model.instance == instance;
  });
  return at == gpu.engines.end() ? nullptr : &*at;
}

// i915_pmu.c: config_status(), engine_event_status()
Counting i915_event(const GpuScript& gpu, std::uint64_t config) {
  using namespace i915_pmu;
  const std::uint64_t gt_number = config >> 60;
  const std::uint64_t event = config & ~(std::uint64_t{0xf} << 60);
  if (event < kFirstOther) {
    const EngineScript* engine = find_engine(gpu, event >> 12, event >> 4 & 0xff);
    if (engine == nullptr) return refuse(ENODEV);
    switch (event & 0xf) {
      case kBusy:
        return integral_of(engine->busy);
      case kWait:
        return integral_of(engine->wait);
      case kSema:
        return integral_of(engine->sema);
      default:
        return refuse(ENOENT);
    }
  }
  if (gt_number >= gpu.gts.size()) return refuse(ENOENT);
  const GtScript& gt = gpu.gts[gt_number];
  constexpr std::uint64_t kKhzPerMhz = 1000;
  switch (event - kFirstOther) {
    case kActual:
      return integral_of(gt.actual_awake_khz, kKhzPerMhz);
    case kRequested:
      return integral_of(gt.requested_awake_khz, kKhzPerMhz);
    case kInterrupts:
      return gt_number == 0 ? integral_of(gpu.interrupts) : refuse(ENOENT);
    case kRc6:
      return integral_of(gt.asleep);
    case kAwake:
      return integral_of(gpu.gts.front().awake);
    default:
      return refuse(ENOENT);
  }
}

// xe_pmu.c: event_supported()
Counting xe_event(const GpuScript& gpu, std::uint64_t config) {
  using namespace xe_pmu;
  const std::uint64_t event = config & 0xfff;
  const std::uint64_t instance = config >> 12 & 0xff;
  const std::uint64_t engine_class = config >> 20 & 0xff;
  const std::uint64_t function = config >> 44 & 0xffff;
  const std::uint64_t gt_number = config >> 60;
  if (gt_number >= gpu.gts.size() || function > gpu.total_functions) return refuse(ENOENT);
  const GtScript& gt = gpu.gts[gt_number];
  if (event == kActiveTicks || event == kTotalTicks) {
    const EngineScript* engine = find_engine(gpu, engine_class, instance);
    if (engine == nullptr || engine->model.gt != gt_number) return refuse(ENOENT);
    // xe_guc_engine_activity.c: the time slice's part of the time.
    if (event == kTotalTicks) {
      return {[slices = gpu.functions.size() + 1](ScriptTime t) {
        return gpu_ticks(static_cast<std::uint64_t>(t.count()) / slices);
      }};
    }
    if (function > gpu.functions.size()) return {[](ScriptTime) { return std::uint64_t{0}; }};
    if (function > 0)
      return {[&of = engine->of_functions[function - 1]](ScriptTime t) { return gpu_ticks(of.integral(t)); }};
    return {[engine](ScriptTime t) {
      std::uint64_t own = engine->busy.integral(t);
      for (const Course& of_function : engine->of_functions) own -= of_function.integral(t);
      return gpu_ticks(own);
    }};
  }
  if (instance != 0 || engine_class != 0 || function != 0) return refuse(ENOENT);
  switch (event) {
    case kC6Residency:
      return integral_of(gt.asleep, 1'000'000);
    case kActualFrequency:
      return {[&gt](ScriptTime t) { return gt.parked(t) ? 0 : gt.actual_khz.value(t) / 1000; }, 0, true};
    case kRequestedFrequency:
      return {[&gt](ScriptTime t) { return gt.requested_khz.value(t) / 1000; }, 0, true};
    default:
      return refuse(ENOENT);
  }
}

Counting energy_of(const Course& microwatts) {
  return {[&microwatts](ScriptTime t) {
    const std::uint64_t microjoules = microwatts.integral(t);
    return (microjoules / 1'000'000 << 32) + (microjoules % 1'000'000 << 32) / 1'000'000;  // 2^-32 J
  }};
}

// rapl.c: rapl_pmu_event_init()
Counting power_event(const MachineScript& script, std::uint64_t config) {
  using namespace rapl_pmu;
  const HostScript& host = script.host;
  switch (config) {
    case kCores:
      return energy_of(host.cores_microwatts);
    case kPackage:
      return energy_of(host.package_microwatts);
    case kPsys:
      return host.has_psys ? energy_of(host.psys_microwatts) : refuse(EINVAL);
    case kGpu:
      for (const GpuScript& gpu : script.gpus) {
        if (gpu.model.kind == GpuKind::integrated) return energy_of(gpu.package_microwatts);
      }
      return refuse(EINVAL);
    default:
      return refuse(EINVAL);
  }
}

// uncore.c: uncore_freerunning_counter(). Each of the two controllers sees half of the traffic.
Counting imc_event(const HostScript& host, std::uint64_t config) {
  constexpr std::uint64_t kFreeRunning = 0xff;
  if ((config & 0xff) != kFreeRunning) return refuse(EINVAL);
  switch (config >> 8) {
    case 0x10:
      return {[&host](ScriptTime t) { return (host.memory_read.integral(t) + host.memory_written.integral(t)) / 2; }};
    case 0x20:
      return integral_of(host.memory_read, 2);
    case 0x30:
      return integral_of(host.memory_written, 2);
    default:
      return refuse(EINVAL);
  }
}

Counting counting_of(const MachineScript& script, const Pmu& pmu, std::uint64_t config) {
  switch (pmu.kind) {
    case Pmu::Kind::i915:
      return i915_event(script.gpus[pmu.gpu], config);
    case Pmu::Kind::xe:
      return xe_event(script.gpus[pmu.gpu], config);
    case Pmu::Kind::power:
      return power_event(script, config);
    case Pmu::Kind::imc_free_running:
      return imc_event(script.host, config);
    case Pmu::Kind::other:
      break;
  }
  return refuse(ENOENT);
}

class Event final : public PerfEvent {
 public:
  Event(Counting counting, const Pmu& pmu, const ScriptClock& clock, Event* leader)
      : counting_(std::move(counting)), pmu_(pmu), clock_(clock), leader_(leader), opened_(clock.now()) {
    if (!counting_.adds_at_each_read) start_ = counting_.count(opened_);
    if (leader_ != nullptr) leader_->siblings_.push_back(this);
  }
  // If the leader is closed, its siblings continue on their own; a closed sibling leaves the group.
  ~Event() override {
    for (Event* sibling : siblings_) sibling->leader_ = nullptr;
    if (leader_ != nullptr) std::erase(leader_->siblings_, this);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Reading<std::span<const std::uint64_t>> read(std::span<std::uint64_t> words) override {
    const std::size_t needed = 4 + siblings_.size();
    if (words.size() < needed)
      return outcome_of_errno<std::span<const std::uint64_t>>(ENOSPC, "read of a simulated perf event");
    const ScriptTime now = clock_.now();
    const auto running = static_cast<std::uint64_t>((now - opened_).count());
    words[0] = 1 + siblings_.size();
    words[1] = running;
    words[2] = running;
    words[3] = value(now);
    for (std::size_t i = 0; i < siblings_.size(); ++i) words[4 + i] = siblings_[i]->value(now);
    return std::span<const std::uint64_t>(words.first(needed));
  }

  const Pmu& pmu() const { return pmu_; }

 private:
  std::uint64_t value(ScriptTime now) {
    if (!counting_.adds_at_each_read) return counting_.count(now) - start_;
    start_ += counting_.count(now);
    return start_;
  }

  Counting counting_;
  const Pmu& pmu_;
  const ScriptClock& clock_;
  Event* leader_;
  std::vector<Event*> siblings_;
  ScriptTime opened_;
  std::uint64_t start_ = 0;  // for an event that adds at each read: the sum so far
};

}  // namespace

SimulatedPerf::SimulatedPerf(const MachineScript& script, const std::vector<Pmu>& pmus,
                             const std::vector<std::unique_ptr<RuntimePower>>& power, const ScriptClock& clock)
    : script_(script), pmus_(pmus), power_(power), clock_(clock) {}

Reading<std::unique_ptr<PerfEvent>> SimulatedPerf::open(const PerfEventConfig& event, int cpu, PerfEvent* leader) {
  // As in perf_events_linux.cpp: errors that the kernel returns for a missing event are an absence here.
  const auto refused = [](int error) -> Reading<std::unique_ptr<PerfEvent>> {
    if (error == EINVAL) return Absent{Reason::kernel, EINVAL};
    return outcome_of_errno<std::unique_ptr<PerfEvent>>(error, "perf_event_open");
  };
  if (!script_.privileged) return refused(EACCES);
  const auto pmu = std::find_if(pmus_.begin(), pmus_.end(), [&](const Pmu& p) { return p.type == event.type; });
  if (pmu == pmus_.end()) return refused(ENOENT);
  if (cpu != 0) return refused(EINVAL);  // cpumask names CPU 0
  auto* const group = dynamic_cast<Event*>(leader);
  if (leader != nullptr && (group == nullptr || &group->pmu() != &*pmu)) return refused(EINVAL);
  Counting counting = counting_of(script_, *pmu, event.config);
  if (counting.error != 0) return refused(counting.error);
  if (pmu->kind == Pmu::Kind::xe) power_[pmu->gpu]->touched();  // an open xe event keeps the device awake
  return std::unique_ptr<PerfEvent>(std::make_unique<Event>(std::move(counting), *pmu, clock_, group));
}

}  // namespace igpu::simulation
