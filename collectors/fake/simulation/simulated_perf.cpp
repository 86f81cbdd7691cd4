// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <utility>

#include "base/scan.h"
#include "fake/simulation/simulated_parts.h"

// kernel/events/core.c (pmu_dev_attrs), drivers/gpu/drm/i915/i915_pmu.c, drivers/gpu/drm/xe/xe_pmu.c,
// arch/x86/events/rapl.c, arch/x86/events/intel/uncore_snb.c
namespace igpu::simulation {

namespace {

using Count = std::function<std::uint64_t(ScriptTime)>;

struct Counting {
  Count count;
  bool adds_at_each_read = false;  // xe's frequencies: each read adds the current value
};

// A file below events/.
struct ListedEvent {
  std::string name, terms, unit, scale;
};

}  // namespace

struct Pmu {
  std::string name{};
  std::uint32_t type = 0;
  int unknown = ENOENT;  // errno of an event that it does not have
  std::vector<std::pair<std::string, std::string>> formats{};
  std::vector<ListedEvent> listed{};
  std::map<std::uint64_t, Counting> events{};  // by config
  bool is_i915 = false;
  const RuntimePower* wakes = nullptr;  // an open event keeps this GPU awake

  int refusal(std::uint64_t config) const {
    const std::uint64_t first_sample = config & ~std::uint64_t{0xf};
    return is_i915 && config < i915_pmu::kFirstOther && !events.contains(first_sample) ? ENODEV : unknown;
  }
};

namespace {

constexpr const char* kRaplScale = "2.3283064365386962890625e-10";
constexpr const char* kImcScale = "6.103515625e-5";

Count integral_of(const Course& course, std::uint64_t divisor = 1) {
  return [&course, divisor](ScriptTime t) { return course.integral(t) / divisor; };
}

Pmu i915_pmu_of(const GpuScript& gpu) {
  using namespace i915_pmu;
  Pmu pmu{.formats = {{"i915_eventid", "config:0-20"}}, .is_i915 = true};
  const auto add = [&](const std::string& name, std::uint64_t config, const char* unit, Count count) {
    pmu.listed.push_back({name, "config=0x" + hexadecimal(config), unit, ""});
    pmu.events[config] = {std::move(count)};
  };
  for (const EngineScript& engine : gpu.engines) {
    const std::uint64_t first =
        static_cast<std::uint64_t>(engine.model.engine_class) << 12 | std::uint64_t{engine.model.instance} << 4;
    add(engine.name + "-busy", first | kBusy, "ns", integral_of(engine.busy));
    add(engine.name + "-sema", first | kSema, "ns", integral_of(engine.sema));
    add(engine.name + "-wait", first | kWait, "ns", integral_of(engine.wait));
  }
  add("interrupts", other_config(kInterrupts, 0), "", integral_of(gpu.interrupts));
  for (std::size_t number = 0; number < gpu.gts.size(); ++number) {
    const GtScript& gt = gpu.gts[number];
    const std::string suffix = gpu.gts.size() > 1 ? "-gt" + std::to_string(number) : "";
    add("actual-frequency" + suffix, other_config(kActual, number), "M", integral_of(gt.actual_awake_khz, 1000));
    add("requested-frequency" + suffix, other_config(kRequested, number), "M",
        integral_of(gt.requested_awake_khz, 1000));
    add("rc6-residency" + suffix, other_config(kRc6, number), "ns", integral_of(gt.asleep));
    add("software-gt-awake-time" + suffix, other_config(kAwake, number), "ns", integral_of(gpu.gts.front().awake));
  }
  return pmu;
}

// xe_guc_engine_activity.c: what an engine did for a function. 0: the GPU's own one, which does what is left.
Count active_ticks(const GpuScript& gpu, const EngineScript& engine, unsigned function) {
  if (function > gpu.functions.size()) return [](ScriptTime) { return std::uint64_t{0}; };
  if (function > 0)
    return [&of = engine.of_functions[function - 1]](ScriptTime t) { return gpu_ticks(of.integral(t)); };
  return [&engine](ScriptTime t) {
    std::uint64_t own = engine.busy.integral(t);
    for (const Course& of_function : engine.of_functions) own -= of_function.integral(t);
    return gpu_ticks(own);
  };
}

Pmu xe_pmu_of(const GpuScript& gpu) {
  using namespace xe_pmu;
  Pmu pmu{.formats = {{"event", "config:0-11"},
                      {"engine_instance", "config:12-19"},
                      {"engine_class", "config:20-27"},
                      {"function", "config:44-59"},
                      {"gt", "config:60-63"}},
          .listed = {{"gt-c6-residency", "event=0x01", "ms", ""},
                     {"engine-active-ticks", "event=0x02", "", ""},
                     {"engine-total-ticks", "event=0x03", "", ""},
                     {"gt-actual-frequency", "event=0x04", "MHz", ""},
                     {"gt-requested-frequency", "event=0x05", "MHz", ""}}};
  for (const EngineScript& engine : gpu.engines) {
    for (unsigned function = 0; function <= gpu.total_functions; ++function) {
      const std::uint64_t of = std::uint64_t{engine.model.instance} << 12 |
                               static_cast<std::uint64_t>(engine.model.engine_class) << 20 |
                               std::uint64_t{function} << 44 | std::uint64_t{engine.model.gt} << 60;
      pmu.events[kActiveTicks | of] = {active_ticks(gpu, engine, function)};
      // The time slice's part of the time.
      pmu.events[kTotalTicks | of] = {[slices = gpu.functions.size() + 1](ScriptTime t) {
        return gpu_ticks(static_cast<std::uint64_t>(t.count()) / slices);
      }};
    }
  }
  for (std::size_t number = 0; number < gpu.gts.size(); ++number) {
    const GtScript& gt = gpu.gts[number];
    const std::uint64_t of = std::uint64_t{number} << 60;
    pmu.events[kC6Residency | of] = {integral_of(gt.asleep, 1'000'000)};
    pmu.events[kActualFrequency | of] = {[&gt](ScriptTime t) { return gt.actual_mhz(t); }, true};
    pmu.events[kRequestedFrequency | of] = {[&gt](ScriptTime t) { return gt.requested_khz.value(t) / 1000; }, true};
  }
  return pmu;
}

// rapl.c: rapl_pmu_event_init()
Pmu power_pmu(const MachineScript& script) {
  using namespace rapl_pmu;
  Pmu pmu{.name = "power", .type = 9, .unknown = EINVAL, .formats = {{"event", "config:0-7"}}};
  const auto add = [&](const char* name, std::uint64_t config, const Course& microwatts) {
    pmu.listed.push_back({name, "event=0x0" + std::to_string(config), "Joules", kRaplScale});
    pmu.events[config] = {[&microwatts](ScriptTime t) {
      const std::uint64_t microjoules = microwatts.integral(t);
      return (microjoules / 1'000'000 << 32) + (microjoules % 1'000'000 << 32) / 1'000'000;  // 2^-32 J
    }};
  };
  add("energy-cores", kCores, script.host.cores_microwatts);
  add("energy-pkg", kPackage, script.host.package_microwatts);
  for (const GpuScript& gpu : script.gpus)
    if (gpu.model.kind == GpuKind::integrated) add("energy-gpu", kGpu, gpu.package_microwatts);
  if (script.host.has_psys) add("energy-psys", kPsys, script.host.psys_microwatts);
  return pmu;
}

// uncore.c: uncore_freerunning_counter(). Each of the two controllers sees half of the traffic.
Pmu free_running_pmu(const HostScript& host, std::string name, std::uint32_t type) {
  return {.name = std::move(name),
          .type = type,
          .unknown = EINVAL,
          .formats = {{"event", "config:0-7"}, {"umask", "config:8-15"}},
          .listed = {{"data_total", "event=0xff,umask=0x10", "MiB", kImcScale},
                     {"data_read", "event=0xff,umask=0x20", "MiB", kImcScale},
                     {"data_write", "event=0xff,umask=0x30", "MiB", kImcScale}},
          .events = {{0x10ff, {[&host](ScriptTime t) {
                        return (host.memory_read.integral(t) + host.memory_written.integral(t)) / 2;
                      }}},
                     {0x20ff, {integral_of(host.memory_read, 2)}},
                     {0x30ff, {integral_of(host.memory_written, 2)}}}};
}

std::vector<Pmu> pmus_of(const World& world) {
  const MachineScript& script = world.script;
  std::vector<Pmu> pmus{{.name = "software", .type = 1},
                        {.name = "tracepoint", .type = 2},
                        {.name = "cpu", .type = 4},
                        {.name = "breakpoint", .type = 5},
                        power_pmu(script),
                        {.name = "msr", .type = 10},
                        {.name = "uncore_imc_0", .type = 13},
                        free_running_pmu(script.host, "uncore_imc_free_running_0", 14),
                        free_running_pmu(script.host, "uncore_imc_free_running_1", 15)};
  std::uint32_t type = 24;  // dynamic types, in order of registration
  for (std::size_t number = 0; number < script.gpus.size(); ++number) {
    const GpuScript& gpu = script.gpus[number];
    const bool is_xe = gpu.model.driver == Driver::xe;
    Pmu& pmu = pmus.emplace_back(is_xe ? xe_pmu_of(gpu) : i915_pmu_of(gpu));
    pmu.name = gpu.pmu_name();
    pmu.type = type++;
    if (is_xe) pmu.wakes = &world.power[number];
  }
  return pmus;
}

class Event final : public PerfEvent {
 public:
  Event(const Counting& counting, const Pmu& pmu, const ScriptClock& clock, Event* leader)
      : counting_(counting), pmu_(pmu), clock_(clock), leader_(leader), opened_(clock.now()) {
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
    words[0] = 1 + siblings_.size();
    words[1] = words[2] = static_cast<std::uint64_t>((now - opened_).count());
    words[3] = value(now);
    for (std::size_t i = 0; i < siblings_.size(); ++i) words[4 + i] = siblings_[i]->value(now);
    return std::span<const std::uint64_t>(words.first(needed));
  }

  const Pmu& pmu() const { return pmu_; }

 private:
  std::uint64_t value(ScriptTime now) {
    if (!counting_.adds_at_each_read) return counting_.count(now) - start_;
    return start_ += counting_.count(now);
  }

  const Counting& counting_;
  const Pmu& pmu_;
  const ScriptClock& clock_;
  Event* leader_;
  std::vector<Event*> siblings_;
  ScriptTime opened_;
  std::uint64_t start_ = 0;  // for an event that adds at each read: the sum so far
};

}  // namespace

SimulatedPerf::SimulatedPerf(const World& world) : world_(world), pmus_(pmus_of(world)) {}
SimulatedPerf::~SimulatedPerf() = default;

void SimulatedPerf::render(Tree& sys) const {
  for (const Pmu& pmu : pmus_) {
    sys.link("bus/event_source/devices/" + pmu.name, "../../../devices/" + pmu.name);
    const Folder folder(sys, "devices/" + pmu.name);
    folder.file("type", std::to_string(pmu.type));
    if (!pmu.formats.empty()) folder.file("cpumask", "0");
    for (const auto& [field, bits] : pmu.formats) folder.file("format/" + field, bits);
    for (const ListedEvent& event : pmu.listed) {
      folder.file("events/" + event.name, event.terms);
      if (!event.unit.empty()) folder.file("events/" + event.name + ".unit", event.unit);
      if (!event.scale.empty()) folder.file("events/" + event.name + ".scale", event.scale);
    }
  }
}

Reading<std::unique_ptr<PerfEvent>> SimulatedPerf::open(const PerfEventConfig& event, int cpu, PerfEvent* leader) {
  // As in perf_events_linux.cpp: errors that the kernel returns for a missing event are an absence here.
  const auto refused = [](int error) -> Reading<std::unique_ptr<PerfEvent>> {
    if (error == EINVAL) return Absent{Reason::kernel, EINVAL};
    return outcome_of_errno<std::unique_ptr<PerfEvent>>(error, "perf_event_open");
  };
  if (!world_.script.privileged) return refused(EACCES);
  const auto pmu = std::ranges::find(pmus_, event.type, &Pmu::type);
  if (pmu == pmus_.end()) return refused(ENOENT);
  if (cpu != 0) return refused(EINVAL);  // cpumask names CPU 0
  auto* const group = dynamic_cast<Event*>(leader);
  if (leader != nullptr && (group == nullptr || &group->pmu() != &*pmu)) return refused(EINVAL);
  const auto counting = pmu->events.find(event.config);
  if (counting == pmu->events.end()) return refused(pmu->refusal(event.config));
  if (pmu->wakes != nullptr) pmu->wakes->note_read();
  return std::unique_ptr<PerfEvent>(std::make_unique<Event>(counting->second, *pmu, world_.clock, group));
}

}  // namespace igpu::simulation
