// SPDX-License-Identifier: Apache-2.0
#include "model/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace igpu {

using namespace snapshot;
namespace {

bool counted_by_pmu(const std::vector<Engine>& engines, EngineClass engine_class) {
  return std::ranges::any_of(engines, [&](const Engine& engine) {
    return engine.engine_class == engine_class && engine.source == EngineSource::pmu && engine.busy;
  });
}

// Null: there was none.
const Fault* last_fault(const GpuModel& gpu) {
  const auto last = std::ranges::max_element(gpu.faults, {}, [](const Fault& fault) { return fault.at.value; });
  return last == gpu.faults.end() ? nullptr : &*last;
}

}  // namespace

std::vector<const Engine*> snapshot::measured_engines(const GpuModel& gpu) {
  std::vector<const Engine*> measured;
  if (!gpu.engines) return measured;
  for (const Engine& engine : *gpu.engines) {
    const bool counted_twice =
        engine.source == EngineSource::fdinfo && counted_by_pmu(*gpu.engines, engine.engine_class);
    if (engine.busy && !counted_twice) measured.push_back(&engine);
  }
  return measured;
}

const Power* snapshot::draw_of(const Snapshot& gpu) {
  if (!gpu.power) return nullptr;
  for (const std::string_view domain : kDrawDomains)
    for (const Power& power : *gpu.power)
      if (power.domain == domain) return &power;
  return nullptr;
}

const PowerLimit* snapshot::power_limit_of(const Snapshot& gpu, std::string_view domain) {
  if (!gpu.power_limits) return nullptr;
  for (const std::string_view limit : {"max", "cap", "rated_max", "crit"})
    for (const PowerLimit& one : *gpu.power_limits)
      if (one.domain == domain && one.limit == limit) return &one;
  return nullptr;
}

const PowerLimit* snapshot::power_limit_of(const Snapshot& gpu) {
  if (const Power* const draw = draw_of(gpu)) return power_limit_of(gpu, draw->domain);
  for (const std::string_view domain : kDrawDomains)
    if (const PowerLimit* const limit = power_limit_of(gpu, domain)) return limit;
  return nullptr;
}

Reading<Hertz> snapshot::clock_of(const GpuModel& gpu) {
  if (!gpu.frequencies) return gpu.frequencies.propagate<Hertz>();
  for (const auto clock : {&Frequency::actual, &Frequency::mean_actual}) {
    Reading<Hertz> highest = Absent{Reason::hardware};
    for (const Frequency& row : *gpu.frequencies)
      if (row.*clock && !(highest && *highest > *(row.*clock))) highest = row.*clock;
    if (highest) return highest;
  }
  return Absent{Reason::hardware};
}

const Temperature* snapshot::temperature_of(const Snapshot& gpu) {
  if (!gpu.temperatures || gpu.temperatures->empty()) return nullptr;
  const auto package = std::ranges::find(*gpu.temperatures, "package", &Temperature::sensor);
  return package != gpu.temperatures->end() ? &*package : &gpu.temperatures->front();
}

MemoryUse snapshot::memory_of(const Snapshot& gpu) {
  if (!gpu.memory) return {false, gpu.memory.propagate<Bytes>(), gpu.memory.propagate<Bytes>()};
  const auto is_own = [](const MemoryRegion& region) { return region.name != "system"; };
  MemoryUse use{.own = std::ranges::any_of(*gpu.memory, is_own)};
  const auto sum = [&](Reading<Bytes> MemoryRegion::*value) {
    Reading<Bytes> total = Absent{Reason::hardware};
    for (const MemoryRegion& region : *gpu.memory) {
      if (is_own(region) != use.own) continue;
      if (!(region.*value)) return region.*value;
      total = Bytes{total.value_or({}).value + (region.*value)->value};
    }
    return total;
  };
  use.size = sum(&MemoryRegion::size);
  use.used = sum(&MemoryRegion::used);
  return use;
}

Reading<Bytes> snapshot::memory_in_use(const GpuModel& gpu) {
  const MemoryUse memory = memory_of(gpu);
  if (memory.used || memory.own || !gpu.processes || gpu.processes->empty()) return memory.used;
  Bytes sum{0};
  for (const Process& process : *gpu.processes) sum.value += resident(process.memory).value_or({}).value;
  return sum;
}

std::string snapshot::place_of(const Process& process) {
  constexpr std::size_t kShortId = 12;  // as container engines print it
  if (!process.container_id.empty()) return process.container_id.substr(0, kShortId);
  return process.systemd_unit.empty() ? process.cgroup : process.systemd_unit;
}

Reading<Bytes> snapshot::resident(const std::vector<ProcessMemory>& memory) {
  Reading<Bytes> sum = Absent{};
  for (const ProcessMemory& row : memory)
    if (row.state == "resident") sum = Bytes{sum.value_or({}).value + row.value.value};
  return sum;
}

std::string_view snapshot::out_of_service(const GpuModel& gpu) {
  if (gpu.survivability.value_or(false)) return "in survivability mode";
  if (gpu.wedged.value_or(false)) return "wedged";
  return {};
}

std::string snapshot::trouble_of(const GpuModel& gpu, Seconds now) {
  constexpr double kShownFor = 60, kClocksDiffer = 5;
  if (const std::string_view why = out_of_service(gpu); !why.empty()) return std::string(why);
  const Fault* const last = last_fault(gpu);
  const double age = last != nullptr ? now.value - last->at.value : kShownFor;
  if (age < kShownFor && age > -kClocksDiffer) {
    std::string text = last->kind;
    std::ranges::replace(text, '_', ' ');
    return text + ", " + std::to_string(std::lround(std::max(age, 0.0))) + " s ago";
  }
  return gpu.hang_captured.value_or(false) ? "GPU hang recorded" : "";
}

State snapshot::state_of(const GpuModel& gpu, Seconds now) {
  constexpr double kHungFor = 600, kClocksDiffer = 5, kBusy = 0.9, kFull = 0.95;
  const Fault* const last = last_fault(gpu);
  if (const std::string_view why = out_of_service(gpu); !why.empty())
    return {State::Word::hung, std::string(why), last != nullptr ? last->at : Seconds{}};
  if (last != nullptr && now.value - last->at.value < kHungFor && now.value - last->at.value > -kClocksDiffer) {
    State state{State::Word::hung, last->kind, last->at};
    std::ranges::replace(state.why, '_', ' ');
    return state;
  }
  if (gpu.suspended.value_or(false)) return {State::Word::asleep, {}, {}};
  const std::vector<const Engine*> engines = measured_engines(gpu);
  if (engines.empty() && !gpu.missing.empty() && !draw_of(gpu)) return {State::Word::no_permission, {}, {}};
  State limited{State::Word::limited, {}, {}};
  for (const std::string_view reason : throttle_reasons(gpu))
    limited.why += (limited.why.empty() ? "" : ", ") + std::string(reason);
  std::ranges::replace(limited.why, '_', ' ');
  const MemoryUse memory = memory_of(gpu);
  if (memory.own && memory.size && memory.used && memory.used->value > kFull * memory.size->value)
    limited.why += limited.why.empty() ? "memory" : ", memory";
  if (!limited.why.empty()) return limited;
  const bool busy = std::ranges::any_of(engines, [](const Engine* engine) { return engine->busy->value >= kBusy; });
  return {busy ? State::Word::busy : State::Word::ok, {}, {}};
}

std::string_view snapshot::to_string(State::Word word) {
  constexpr std::array<std::string_view, 6> kWords{"OK", "BUSY", "LIMITED", "NO PERMISSION", "ASLEEP", "HUNG"};
  return kWords[static_cast<std::size_t>(word)];
}

std::vector<Channel> HostModel::channels() const {
  const auto has_workloads = [](const GpuModel& gpu) {
    return std::ranges::any_of(gpu.video_jobs, [](const VideoJobs& jobs) { return !jobs.workload.empty(); });
  };
  const bool by_workload = std::ranges::any_of(gpus, has_workloads);
  std::map<std::string, Channel> channels;
  for (const GpuModel& gpu : gpus) {
    for (const VideoJobs& jobs : gpu.video_jobs) {
      if (jobs.workload.empty() == by_workload) continue;
      if (jobs.workload == "unattributed" || jobs.workload == "other") continue;
      std::string name = by_workload ? jobs.workload : jobs.comm + " (" + std::to_string(jobs.pid) + ')';
      Channel& channel = channels.try_emplace(name, Channel{name, {}, {}}).first->second;
      const std::string& card = gpu.gpu.card.empty() ? gpu.gpu.address : gpu.gpu.card;
      if (channel.cards.empty() || channel.cards.back() != card) channel.cards.push_back(card);
      channel.jobs.value += jobs.done.value;
    }
  }
  std::vector<Channel> list;
  for (auto& [name, channel] : channels) list.push_back(std::move(channel));
  return list;
}

std::string_view HostModel::workload_of(const Process& process) const {
  const auto same = [](const std::string& a, const std::string& b) { return !a.empty() && a == b; };
  for (const Workload& workload : workloads) {
    if (same(workload.container_id, process.container_id) ||
        (workload.container_id.empty() && same(workload.pod_uid, process.pod_uid)) ||
        (process.container_id.empty() && same(workload.systemd_unit, process.systemd_unit)) ||
        (workload.kind == "comm" && same(workload.name, process.comm)))
      return workload.name;
  }
  return {};
}

// Cards keep their media engines on a GT of their own, so the fastest GT is compared: no GT may be fast.
std::optional<BusyButSlow> snapshot::busy_but_slow(const GpuModel& gpu) {
  constexpr double kBusy = 0.9, kSlow = 0.5;
  if (!gpu.frequencies || !gpu.engine_classes) return std::nullopt;
  if (gpu.throttling && std::ranges::any_of(*gpu.throttling, [](const Throttling& gt) { return gt.limited; }))
    return std::nullopt;
  std::optional<BusyButSlow> found;
  for (const Frequency& gt : *gpu.frequencies) {
    const Reading<Hertz>& actual = gt.mean_actual ? gt.mean_actual : gt.actual;
    // The limit that was set, unless the hardware allows less now.
    const double allowed = std::min(gt.max.value_or(Hertz{0}).value, gt.rpa.value_or(gt.max.value_or(Hertz{0})).value);
    if (!actual || actual->value <= 0 || allowed <= 0) continue;  // 0: parked
    if (actual->value >= kSlow * allowed) return std::nullopt;
    found = BusyButSlow{EngineClass::render, {}, *actual, Hertz{allowed}};
  }
  if (!found) return std::nullopt;
  for (const EngineClassLoad& load : *gpu.engine_classes) {
    if (!load.busy || load.busy->value <= std::max(kBusy, found->busy.value)) continue;
    found->engine_class = load.engine_class;
    found->busy = *load.busy;
  }
  return found->busy.value > 0 ? found : std::nullopt;
}

std::vector<std::string_view> snapshot::throttle_reasons(const Throttling& row) {
  if (row.limited && row.reasons.empty()) return {"no reason given"};
  return {row.reasons.begin(), row.reasons.end()};
}

std::vector<std::string_view> snapshot::throttle_reasons(const Snapshot& gpu) {
  std::vector<std::string_view> all;
  if (!gpu.throttling) return all;
  for (const Throttling& row : *gpu.throttling)
    for (const std::string_view reason : throttle_reasons(row))
      if (std::ranges::find(all, reason) == all.end()) all.push_back(reason);
  return all;
}

namespace model {
namespace {

// The mean over the engines that have the value; without any, why.
Reading<Ratio> mean(const std::vector<Engine>& engines, EngineClass engine_class, EngineSource source,
                    Reading<Ratio> Engine::*field) {
  double sum = 0;
  unsigned count = 0;
  Reading<Ratio> why = Absent{Reason::hardware};
  for (const Engine& engine : engines) {
    if (engine.engine_class != engine_class || engine.source != source) continue;
    if (const Reading<Ratio>& value = engine.*field) {
      sum += value->value;
      ++count;
    } else {
      why = value;
    }
  }
  if (count == 0) return why;
  return Ratio{sum / count};
}

// Rows without a value whose class was measured by the other source.
void mark_resting_sources(std::vector<Engine>& engines) {
  for (Engine& engine : engines) {
    if (engine.busy) continue;
    const bool elsewhere = std::ranges::any_of(engines, [&](const Engine& other) {
      return other.engine_class == engine.engine_class && other.source != engine.source && other.busy;
    });
    if (elsewhere) engine.busy = Absent{Reason::suspended};
  }
}

// While the source changes, a class may have rows of both: the engines' own are more exact.
std::vector<EngineClassLoad> load_by_class(const std::vector<Engine>& engines) {
  std::vector<EngineClassLoad> classes;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    EngineClassLoad load;
    load.engine_class = static_cast<EngineClass>(i);
    const auto rows_of = [&](EngineSource source) {
      return static_cast<unsigned>(std::ranges::count_if(engines, [&](const Engine& engine) {
        return engine.engine_class == load.engine_class && engine.source == source;
      }));
    };
    const unsigned of_pmu = rows_of(EngineSource::pmu), of_clients = rows_of(EngineSource::fdinfo);
    if (of_pmu + of_clients == 0) continue;
    const bool use_pmu = of_clients == 0 || counted_by_pmu(engines, load.engine_class);
    const EngineSource source = use_pmu ? EngineSource::pmu : EngineSource::fdinfo;
    load.engines = use_pmu ? of_pmu : of_clients;
    load.busy = mean(engines, load.engine_class, source, &Engine::busy);
    load.wait = mean(engines, load.engine_class, source, &Engine::wait);
    load.sema = mean(engines, load.engine_class, source, &Engine::sema);
    classes.push_back(std::move(load));
  }
  return classes;
}

template <class Row>
void move_rows(GpuModel& gpu, RowList<Row>& list, const Reasons& reasons) {
  if constexpr (std::is_same_v<std::decay_t<decltype(gpu.*kTopic<Row>.in)>, Reading<std::vector<Row>>>) {
    auto& rows = gpu.*kTopic<Row>.in;
    if (!list.rows.empty())
      rows = std::move(list.rows);
    else
      rows = reasons.missing<std::vector<Row>>(field_at(kTopic<Row>.first)->why);
  } else if constexpr (std::is_same_v<std::decay_t<decltype(gpu.*kTopic<Row>.in)>, std::vector<Row>>) {
    gpu.*kTopic<Row>.in = std::move(list.rows);
  }
}

}  // namespace

Failure no_window() {
  return {std::make_error_code(std::errc::resource_unavailable_try_again), "no earlier reading to compare with"};
}

bool Reasons::available(std::string_view feature) const {
  return std::ranges::any_of(found_, [&](const Found& found) { return found.available && found.feature == feature; });
}

Reading<Unit> Reasons::reason(const Why& why) const {
  if (why.feature.empty() && why.collector.empty()) return Absent{Reason::kernel};
  const auto found = std::ranges::find(found_, why.feature, &Found::feature);
  if (found != found_.end() && !found->available) return found->absent;
  if (const CollectorFailure* failure = failure_of(why.collector)) return failure->failure;
  // The feature is available: there is nothing to compare the value with.
  if (found != found_.end()) return no_window();
  return Absent{Reason::hardware};
}

const CollectorFailure* Reasons::failure_of(std::string_view collector) const {
  const auto found = std::ranges::find_if(failures_, [&](const CollectorFailure& failure) {
    return failure.collector == collector && (failure.device.empty() || failure.device == device_);
  });
  return found == failures_.end() ? nullptr : &*found;
}

GpuModel finish(GpuRows&& rows, const Reasons& reasons) {
  for (const Field& field : fields())
    if (field.explain != nullptr) field.explain(rows, reasons, field.why);
  GpuModel gpu = std::move(rows.model);

  std::vector<Engine>& engines = rows.of<Engine>();
  mark_resting_sources(engines);
  // The order of every view: by class, then as the page has them.
  std::ranges::stable_sort(engines, {}, &Engine::engine_class);
  if (!engines.empty()) gpu.engine_classes = load_by_class(engines);
  for (Bandwidth& row : rows.of<Bandwidth>()) row.rate = no_window();
  std::vector<Process> processes = std::move(rows.of<Process>());  // a list that may have a value without rows
  rows.of<Process>().clear();
  std::apply([&](auto&... list) { (move_rows(gpu, list, reasons), ...); }, rows.lists);
  if (!gpu.engines) gpu.engine_classes = gpu.engines.propagate<std::vector<EngineClassLoad>>();
  if (rows.of<PcieLink>().empty())
    gpu.pcie = reasons.missing<PcieLink>({"pcie_link", "pcie"});
  else
    gpu.pcie = std::move(rows.of<PcieLink>().front());

  const bool sees_others = reasons.available("processes");
  constexpr Why kNoProcesses{"processes", "fdinfo"};
  gpu.other_users = sees_others ? Reading<Unit>(Unit{}) : reasons.missing<Unit>(kNoProcesses);
  const auto before = [](const Process& a, const Process& b) {
    return a.pid != b.pid ? a.pid < b.pid : a.comm < b.comm;
  };
  if (!std::ranges::is_sorted(processes, before))  // rows are large; they usually are
    std::ranges::sort(processes, before);
  if (!processes.empty() || (gpu.process_count && sees_others)) gpu.processes = std::move(processes);
  std::ranges::sort(gpu.functions, {}, &VirtualFunction::number);
  return gpu;
}

}  // namespace model
}  // namespace igpu
