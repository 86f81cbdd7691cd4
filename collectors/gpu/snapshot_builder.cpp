// SPDX-License-Identifier: Apache-2.0
#include "gpu/snapshot_builder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/scan.h"
#include "gpu/open_gpu.h"

namespace igpu {

using namespace snapshot;
namespace {

constexpr std::size_t kMaxRuleLabels = 7;
using Labels = std::array<std::string_view, kMaxRuleLabels>;

std::optional<EngineClass> engine_class_of(std::string_view label) {
  for (std::size_t i = 0; i < kEngineClasses; ++i)
    if (to_string(static_cast<EngineClass>(i)) == label) return static_cast<EngineClass>(i);
  return std::nullopt;
}

unsigned number_of(std::string_view label) { return scan_integer<unsigned>(label).value_or(0); }

// The row that `matches`, or a new one, which `name` makes match. Samples of a row follow each other: the last row is
// tried first.
template <class Row, class Matches, class Name>
Row& row_of(std::vector<Row>& rows, Matches matches, Name name) {
  const auto found = std::find_if(rows.rbegin(), rows.rend(), matches);
  if (found != rows.rend()) return *found;
  Row& made = rows.emplace_back();
  name(made);
  return made;
}

}  // namespace

// What the samples of one scrape are sorted into.
struct SnapshotBuilder::Pass {
  std::vector<Engine> engines;
  std::vector<Frequency> frequencies;
  std::vector<Throttling> throttling;
  std::vector<Residency> rc6;
  std::vector<Power> power;
  std::vector<PowerLimit> power_limits;
  std::vector<Temperature> temperatures;
  std::vector<Fan> fans;
  std::vector<Voltage> voltages;
  std::vector<MemoryRegion> memory;
  std::vector<Bandwidth> bandwidth;
  std::vector<Process> processes;
  std::optional<PcieLink> pcie;
  std::optional<bool> suspended, hang_captured;
  std::optional<double> interrupts, process_count;

  // A snapshot usually has as many rows as the one before it.
  explicit Pass(const Rows& before) {
    engines.reserve(before.engines);
    frequencies.reserve(before.frequencies);
    throttling.reserve(before.throttling);
    rc6.reserve(before.rc6);
    power.reserve(before.power);
    power_limits.reserve(before.power_limits);
    temperatures.reserve(before.temperatures);
    fans.reserve(before.fans);
    voltages.reserve(before.voltages);
    memory.reserve(before.memory);
    bandwidth.reserve(before.bandwidth);
    processes.reserve(before.processes);
  }
  Rows rows() const {
    return {engines.size(),  frequencies.size(),  throttling.size(),   rc6.size(),
            power.size(),    power_limits.size(), temperatures.size(), fans.size(),
            voltages.size(), memory.size(),       bandwidth.size(),    processes.size()};
  }

  Engine& engine(std::string_view gt, std::string_view name, std::string_view engine_class, std::string_view source) {
    const EngineSource from = source == "fdinfo" ? EngineSource::fdinfo : EngineSource::pmu;
    const std::optional<unsigned> number = gt.empty() ? std::nullopt : std::optional(number_of(gt));
    return row_of(
        engines, [&](const Engine& row) { return row.name == name && row.gt == number && row.source == from; },
        [&](Engine& made) {
          made.name = name;
          made.engine_class = engine_class_of(engine_class).value_or(EngineClass::render);
          made.gt = number;
          made.source = from;
        });
  }
  template <class Row>
  static Row& by_gt(std::vector<Row>& rows, std::string_view gt) {
    const unsigned number = number_of(gt);
    return row_of(
        rows, [&](const Row& row) { return row.gt == number; }, [&](Row& made) { made.gt = number; });
  }
  Power& power_row(std::string_view domain, std::string_view source) {
    return row_of(
        power, [&](const Power& row) { return row.domain == domain && row.source == source; },
        [&](Power& made) {
          made.domain = domain;
          made.source = source;
        });
  }
  MemoryRegion& region(std::string_view name) {
    return row_of(
        memory, [&](const MemoryRegion& row) { return row.name == name; },
        [&](MemoryRegion& made) { made.name = name; });
  }
  PcieLink& link() {
    if (!pcie) pcie.emplace();
    return *pcie;
  }
  Process& process(const Labels& labels) {
    const std::uint32_t pid = number_of(labels[0]);
    return row_of(
        processes, [&](const Process& row) { return row.pid == pid && row.comm == labels[1]; },
        [&](Process& made) {
          made.pid = pid;
          made.comm = labels[1];
          made.busy.fill(Absent{Reason::hardware});
          made.busy_time.fill(Absent{Reason::hardware});
        });
  }
};

// A metric's field.
struct SnapshotBuilder::Binding {
  using Put = void (*)(Pass&, const Labels&, double);
  struct Rule {
    std::string_view metric;
    std::array<std::string_view, kMaxRuleLabels> labels;
    Put put;
  };
  static std::span<const Rule> rules();

  const MetricDescriptor* metric = nullptr;
  Put put = nullptr;  // null: no field
  std::array<std::uint8_t, kMaxRuleLabels> positions{};
  std::uint8_t labels = 0;
  std::uint8_t device = kMaxLabels;
};

std::span<const SnapshotBuilder::Binding::Rule> SnapshotBuilder::Binding::rules() {
  static constexpr Rule kRules[] = {
      {"intel_gpu_runtime_suspended", {}, [](Pass& pass, const Labels&, double v) { pass.suspended = v != 0; }},
      {"intel_gpu_error_state", {}, [](Pass& pass, const Labels&, double v) { pass.hang_captured = v != 0; }},
      {"intel_gpu_engine_busy_ratio",
       {"gt", "engine", "class", "source"},
       [](Pass& pass, const Labels& l, double v) { pass.engine(l[0], l[1], l[2], l[3]).busy = Ratio{v}; }},
      {"intel_gpu_engine_busy_seconds_total",
       {"gt", "engine", "class", "source"},
       [](Pass& pass, const Labels& l, double v) { pass.engine(l[0], l[1], l[2], l[3]).busy_time = Seconds{v}; }},
      {"intel_gpu_engine_wait_ratio",
       {"gt", "engine", "class"},
       [](Pass& pass, const Labels& l, double v) { pass.engine(l[0], l[1], l[2], "pmu").wait = Ratio{v}; }},
      {"intel_gpu_engine_sema_ratio",
       {"gt", "engine", "class"},
       [](Pass& pass, const Labels& l, double v) { pass.engine(l[0], l[1], l[2], "pmu").sema = Ratio{v}; }},
      {"intel_gpu_interrupts_total", {}, [](Pass& pass, const Labels&, double v) { pass.interrupts = v; }},
      {"intel_gpu_frequency_hertz",
       {"gt", "kind"},
       [](Pass& pass, const Labels& l, double v) {
         Frequency& row = Pass::by_gt(pass.frequencies, l[0]);
         (l[1] == "actual" ? row.actual : row.requested) = Hertz{v};
       }},
      {"intel_gpu_frequency_average_hertz",
       {"gt", "kind"},
       [](Pass& pass, const Labels& l, double v) {
         Frequency& row = Pass::by_gt(pass.frequencies, l[0]);
         (l[1] == "actual" ? row.mean_actual : row.mean_requested) = Hertz{v};
       }},
      {"intel_gpu_frequency_limit_hertz",
       {"gt", "limit"},
       [](Pass& pass, const Labels& l, double v) {
         using Field = Reading<Hertz> Frequency::*;
         constexpr std::pair<std::string_view, Field> kLimits[] = {
             {"min", &Frequency::min}, {"max", &Frequency::max}, {"boost", &Frequency::boost},
             {"rp0", &Frequency::rp0}, {"rp1", &Frequency::rp1}, {"rpn", &Frequency::rpn},
             {"rpe", &Frequency::rpe}, {"rpa", &Frequency::rpa}};
         for (const auto& [name, field] : kLimits)
           if (name == l[1]) Pass::by_gt(pass.frequencies, l[0]).*field = Hertz{v};
       }},
      {"intel_gpu_throttled",
       {"gt", "reason"},
       [](Pass& pass, const Labels& l, double v) {
         Throttling& row = Pass::by_gt(pass.throttling, l[0]);
         if (v != 0) row.limited = true;
         if (l[1] == "any") return;
         row.known.emplace_back(l[1]);
         if (v != 0) row.reasons.emplace_back(l[1]);
       }},
      {"intel_gpu_rc6_residency_ratio",
       {"gt"},
       [](Pass& pass, const Labels& l, double v) { Pass::by_gt(pass.rc6, l[0]).ratio = Ratio{v}; }},
      {"intel_gpu_rc6_residency_seconds_total",
       {"gt"},
       [](Pass& pass, const Labels& l, double v) { Pass::by_gt(pass.rc6, l[0]).time = Seconds{v}; }},
      {"intel_gpu_power_watts",
       {"domain", "source"},
       [](Pass& pass, const Labels& l, double v) { pass.power_row(l[0], l[1]).mean = Watts{v}; }},
      {"intel_gpu_energy_joules_total",
       {"domain", "source"},
       [](Pass& pass, const Labels& l, double v) { pass.power_row(l[0], l[1]).energy = Joules{v}; }},
      {"intel_gpu_power_limit_watts",
       {"domain", "limit"},
       [](Pass& pass, const Labels& l, double v) {
         pass.power_limits.push_back({std::string(l[0]), std::string(l[1]), Watts{v}});
       }},
      {"intel_gpu_temperature_celsius",
       {"sensor"},
       [](Pass& pass, const Labels& l, double v) {
         pass.temperatures.push_back({std::string(l[0]), Celsius{v}});
       }},
      {"intel_gpu_fan_speed_rpm",
       {"fan"},
       [](Pass& pass, const Labels& l, double v) {
         pass.fans.push_back({std::string(l[0]), Rpm{v}});
       }},
      {"intel_gpu_voltage_volts",
       {"domain"},
       [](Pass& pass, const Labels& l, double v) {
         pass.voltages.push_back({std::string(l[0]), Volts{v}});
       }},
      {"intel_gpu_memory_size_bytes",
       {"memory_region"},
       [](Pass& pass, const Labels& l, double v) { pass.region(l[0]).size = Bytes{v}; }},
      {"intel_gpu_memory_used_bytes",
       {"memory_region"},
       [](Pass& pass, const Labels& l, double v) { pass.region(l[0]).used = Bytes{v}; }},
      {"intel_gpu_memory_bandwidth_bytes_total",
       {"direction"},
       [](Pass& pass, const Labels& l, double v) {
         Bandwidth& row = pass.bandwidth.emplace_back();
         row.direction = l[0];
         row.total = Bytes{v};
       }},
      {"intel_gpu_pcie_link_speed_transfers_per_second",
       {"bound"},
       [](Pass& pass, const Labels& l, double v) {
         (l[0] == "max" ? pass.link().max_speed : pass.link().speed) = TransfersPerSecond{v};
       }},
      {"intel_gpu_pcie_link_width_lanes",
       {"bound"},
       [](Pass& pass, const Labels& l, double v) {
         (l[0] == "max" ? pass.link().max_width : pass.link().width) = Lanes{v};
       }},
      {"intel_gpu_processes", {}, [](Pass& pass, const Labels&, double v) { pass.process_count = v; }},
      {"intel_gpu_process_clients",
       {"pid", "comm"},
       [](Pass& pass, const Labels& l, double v) { pass.process(l).clients = Count{v}; }},
      {"intel_gpu_process_engine_busy_ratio",
       {"pid", "comm", "class"},
       [](Pass& pass, const Labels& l, double v) {
         if (const auto of = engine_class_of(l[2])) pass.process(l).busy[static_cast<std::size_t>(*of)] = Ratio{v};
       }},
      {"intel_gpu_process_engine_busy_seconds_total",
       {"pid", "comm", "class"},
       [](Pass& pass, const Labels& l, double v) {
         if (const auto of = engine_class_of(l[2]))
           pass.process(l).busy_time[static_cast<std::size_t>(*of)] = Seconds{v};
       }},
      {"intel_gpu_process_memory_bytes",
       {"pid", "comm", "memory_region", "state"},
       [](Pass& pass, const Labels& l, double v) {
         pass.process(l).memory.push_back({std::string(l[2]), std::string(l[3]), Bytes{v}});
       }},
      {"intel_gpu_process_info",
       {"pid", "comm", "user", "cgroup", "container_id", "pod_uid", "systemd_unit"},
       [](Pass& pass, const Labels& l, double) {
         Process& row = pass.process(l);
         row.user = l[2];
         row.cgroup = l[3];
         row.container_id = l[4];
         row.pod_uid = l[5];
         row.systemd_unit = l[6];
       }},
      {"intel_gpu_process_cpu_seconds_total",
       {"pid", "comm"},
       [](Pass& pass, const Labels& l, double v) { pass.process(l).cpu_time = Seconds{v}; }},
      {"intel_gpu_process_resident_memory_bytes",
       {"pid", "comm"},
       [](Pass& pass, const Labels& l, double v) { pass.process(l).resident_memory = Bytes{v}; }},
      {"intel_gpu_process_virtual_memory_bytes",
       {"pid", "comm"},
       [](Pass& pass, const Labels& l, double v) { pass.process(l).virtual_memory = Bytes{v}; }},
  };
  return kRules;
}

namespace {

// No field of their own: a count behind a ratio, the identity (Snapshot::gpu), or a detail that few programs want.
constexpr std::string_view kWithoutField[] = {
    "intel_gpu_info",
    "intel_gpu_engine_wait_seconds_total",
    "intel_gpu_engine_sema_seconds_total",
    "intel_gpu_engine_active_ticks_total",
    "intel_gpu_engine_ticks_total",
    "intel_gpu_frequency_cycles_total",
    "intel_gpu_awake_seconds_total",
    "intel_gpu_current_limit_amperes",
    "intel_gpu_processes_dropped",
};

// Why a value of this collector's is missing although its feature is available: there is nothing to compare it with.
Failure no_window() {
  return {std::make_error_code(std::errc::resource_unavailable_try_again), "no earlier reading to compare with"};
}

// Why a topic has no rows.
class Reasons {
 public:
  Reasons(std::span<const SnapshotBuilder::Found> found, const ScrapeResult& scrape, const Gpu& gpu)
      : found_(found), scrape_(scrape), gpu_(gpu) {}

  bool available(std::string_view feature) const {
    return std::any_of(found_.begin(), found_.end(),
                       [&](const auto& found) { return found.available && found.feature == feature; });
  }
  template <class T>
  Reading<T> missing(std::string_view feature, std::string_view collector) const {
    for (const SnapshotBuilder::Found& found : found_) {
      if (found.feature != feature) continue;
      if (!found.available) return found.absent;
      if (const CollectorFailure* failure = failure_of(collector)) return failure->failure;
      return no_window();
    }
    if (const CollectorFailure* failure = failure_of(collector)) return failure->failure;
    return Absent{Reason::hardware};
  }
  template <class T>
  Reading<T> or_missing(std::optional<T> value, std::string_view feature, std::string_view collector) const {
    if (value) return std::move(*value);
    return missing<T>(feature, collector);
  }
  template <class Row>
  Reading<std::vector<Row>> rows(std::vector<Row>&& rows, std::string_view feature, std::string_view collector) const {
    if (!rows.empty()) return std::move(rows);
    return missing<std::vector<Row>>(feature, collector);
  }
  // Fills the fields that have no value in rows that others have filled.
  template <class Row, class T>
  void fill(std::vector<Row>& rows, Reading<T> Row::*field, std::string_view feature,
            std::string_view collector) const {
    std::optional<Reading<T>> why;
    for (Row& row : rows) {
      if (row.*field) continue;
      if (!why) why = missing<T>(feature, collector);
      row.*field = *why;
    }
  }

 private:
  const CollectorFailure* failure_of(std::string_view collector) const {
    for (const CollectorFailure& failure : scrape_.failures())
      if (failure.collector == collector && (failure.device.empty() || failure.device == gpu_.address)) return &failure;
    return nullptr;
  }

  const std::span<const SnapshotBuilder::Found> found_;
  const ScrapeResult& scrape_;
  const Gpu& gpu_;
};

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

// While the source changes a class may have rows of both: the engines' own are more exact.
std::vector<EngineClassLoad> by_class(const std::vector<Engine>& engines) {
  std::vector<EngineClassLoad> classes;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    EngineClassLoad load;
    load.engine_class = static_cast<EngineClass>(i);
    EngineSource source = EngineSource::fdinfo;
    const auto usable = [&](const Engine& engine) { return engine.engine_class == load.engine_class; };
    for (const Engine& engine : engines)
      if (usable(engine) && engine.source == EngineSource::pmu && engine.busy) source = EngineSource::pmu;
    const bool of_class = std::any_of(engines.begin(), engines.end(), usable);
    if (!of_class) continue;
    if (std::none_of(engines.begin(), engines.end(),
                     [&](const Engine& engine) { return usable(engine) && engine.source == source; }))
      source = EngineSource::pmu;
    for (const Engine& engine : engines) load.engines += usable(engine) && engine.source == source ? 1 : 0;
    load.busy = mean(engines, load.engine_class, source, &Engine::busy);
    load.wait = mean(engines, load.engine_class, source, &Engine::wait);
    load.sema = mean(engines, load.engine_class, source, &Engine::sema);
    classes.push_back(std::move(load));
  }
  return classes;
}

}  // namespace

SnapshotBuilder::SnapshotBuilder(Nanoseconds min_window) : min_window_(min_window) {}
SnapshotBuilder::~SnapshotBuilder() = default;

SnapshotBuilder::Use SnapshotBuilder::use_of(std::string_view metric) {
  const auto rules = Binding::rules();
  if (std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule.metric == metric; }))
    return Use::field;
  const bool left_out =
      std::find(std::begin(kWithoutField), std::end(kWithoutField), metric) != std::end(kWithoutField);
  return left_out ? Use::left_out : Use::unknown;
}

const SnapshotBuilder::Binding& SnapshotBuilder::bind(const MetricDescriptor& metric) {
  // Samples come in about the same order each time: the search goes on where the last one ended.
  for (std::size_t i = 0; i < bindings_.size(); ++i) {
    if (++last_binding_ >= bindings_.size()) last_binding_ = 0;
    if (bindings_[last_binding_].metric == &metric) return bindings_[last_binding_];
  }
  last_binding_ = bindings_.size();
  Binding& binding = bindings_.emplace_back();
  binding.metric = &metric;
  const auto position = [&](std::string_view label) {
    std::uint8_t i = 0;
    while (i < metric.label_count && metric.label_names[i] != label) ++i;
    return i < metric.label_count ? i : static_cast<std::uint8_t>(kMaxLabels);
  };
  binding.device = position("device");
  for (const Binding::Rule& rule : Binding::rules()) {
    if (rule.metric != metric.name) continue;
    binding.put = rule.put;
    for (; binding.labels < rule.labels.size() && !rule.labels[binding.labels].empty(); ++binding.labels)
      binding.positions[binding.labels] = position(rule.labels[binding.labels]);
  }
  return binding;
}

void SnapshotBuilder::sort_samples(const ScrapeResult& scrape, const Gpu& gpu, Pass& pass) {
  const MetricDescriptor* last = nullptr;
  const Binding* binding = nullptr;
  for (const SampleList* list : scrape.lists()) {
    for (const SampleList::Sample& sample : list->samples()) {
      if (sample.metric != last) {
        last = sample.metric;
        binding = &bind(*last);  // valid until the next one
      }
      if (binding->put == nullptr || binding->device == kMaxLabels) continue;
      if (list->label_value(sample, binding->device) != gpu.address) continue;
      Labels labels;
      for (std::size_t i = 0; i < binding->labels; ++i)
        if (binding->positions[i] != kMaxLabels) labels[i] = list->label_value(sample, binding->positions[i]);
      binding->put(pass, labels, sample.value);
    }
  }
}

void SnapshotBuilder::keep_features(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu) {
  if (features_ && scrape->findings().data() == findings_) return;
  auto features = std::make_shared<std::vector<FeatureState>>();
  found_.clear();
  for (const Finding& finding : scrape->findings()) {
    if (!finding.device.empty() && finding.device != gpu.address) continue;
    found_.push_back({finding.feature->name, finding.available, finding.absent});
    const auto ours = snapshot_collectors();
    if (finding.collector != "identity" && std::find(ours.begin(), ours.end(), finding.collector) == ours.end())
      continue;
    FeatureState& state = features->emplace_back();
    state = {std::string(finding.feature->name), finding.available, finding.absent, finding.cause, finding.hint};
    if (finding.available || finding.absent.reason != Reason::disabled) continue;
    state.cause = "this program leaves it out";  // there are no flags here
    state.hint.clear();
  }
  features_ = std::move(features);
  features_of_ = scrape;
  findings_ = scrape->findings().data();
}

void SnapshotBuilder::add_bandwidth_rates(std::vector<Bandwidth>& rows, Nanoseconds now) {
  for (Bandwidth& row : rows) {
    auto& window = bandwidth_.try_emplace(row.direction, min_window_).first->second;
    const auto delta = window.advance(now, {static_cast<std::uint64_t>(row.total.value)});
    row.rate = no_window();
    if (delta) row.rate = BytesPerSecond{static_cast<double>(delta->counts[0]) / to_seconds(delta->elapsed).value};
  }
}

Snapshot SnapshotBuilder::build(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu, Nanoseconds now) {
  Pass pass(rows_);
  sort_samples(*scrape, gpu, pass);
  rows_ = pass.rows();
  keep_features(scrape, gpu);
  const Reasons reasons(found_, *scrape, gpu);
  Snapshot snapshot;
  snapshot.features = features_;

  snapshot.suspended = reasons.or_missing(pass.suspended, "", "");
  if (!snapshot.suspended) snapshot.suspended = Absent{Reason::kernel};
  snapshot.hang_captured = reasons.or_missing(pass.hang_captured, "error_state", "");
  snapshot.interrupts =
      reasons.or_missing(pass.interrupts, "interrupts", "engines").map([](double count) { return Count{count}; });

  reasons.fill(pass.engines, &Engine::busy, "engine_busy", "engines");
  reasons.fill(pass.engines, &Engine::busy_time, "engine_busy", "engines");
  reasons.fill(pass.engines, &Engine::wait, "engine_wait_sema", "engines");
  reasons.fill(pass.engines, &Engine::sema, "engine_wait_sema", "engines");
  // While the PMU counts a class, what its processes used before stays counted and has no ratio.
  const auto counted_by_pmu = [&](EngineClass engine_class) {
    return std::any_of(pass.engines.begin(), pass.engines.end(), [&](const Engine& engine) {
      return engine.engine_class == engine_class && engine.source == EngineSource::pmu && engine.busy;
    });
  };
  for (Engine& engine : pass.engines)
    if (engine.source == EngineSource::fdinfo && !engine.busy && counted_by_pmu(engine.engine_class))
      engine.busy = engine.wait = engine.sema = Absent{Reason::disabled};
  if (!pass.engines.empty()) snapshot.engine_classes = by_class(pass.engines);
  snapshot.engines = reasons.rows(std::move(pass.engines), "engine_busy", "engines");
  if (!snapshot.engines) snapshot.engine_classes = snapshot.engines.propagate<std::vector<EngineClassLoad>>();

  for (const auto field : {&Frequency::actual, &Frequency::requested})
    reasons.fill(pass.frequencies, field, "frequency", "frequency");
  for (const auto field : {&Frequency::mean_actual, &Frequency::mean_requested})
    reasons.fill(pass.frequencies, field, "frequency_average", "frequency");
  // A driver has some of these limits; those that it has are read.
  for (const auto field : {&Frequency::min, &Frequency::max, &Frequency::boost, &Frequency::rp0, &Frequency::rp1,
                           &Frequency::rpn, &Frequency::rpe, &Frequency::rpa})
    for (Frequency& row : pass.frequencies)
      if (!(row.*field)) row.*field = Absent{Reason::kernel};
  snapshot.frequencies = reasons.rows(std::move(pass.frequencies), "frequency", "frequency");
  snapshot.throttling = reasons.rows(std::move(pass.throttling), "throttle_reasons", "frequency");
  reasons.fill(pass.rc6, &Residency::ratio, "rc6", "rc6");
  reasons.fill(pass.rc6, &Residency::time, "rc6", "rc6");
  snapshot.rc6 = reasons.rows(std::move(pass.rc6), "rc6", "rc6");

  reasons.fill(pass.power, &Power::mean, "power", "power");
  reasons.fill(pass.power, &Power::energy, "power", "power");
  snapshot.power = reasons.rows(std::move(pass.power), "power", "power");
  snapshot.power_limits = reasons.rows(std::move(pass.power_limits), "power_limits", "hwmon");
  snapshot.temperatures = reasons.rows(std::move(pass.temperatures), "temperature", "hwmon");
  snapshot.fans = reasons.rows(std::move(pass.fans), "fan", "hwmon");
  snapshot.voltages = reasons.rows(std::move(pass.voltages), "voltage", "hwmon");

  reasons.fill(pass.memory, &MemoryRegion::size, "memory_size", "memory");
  reasons.fill(pass.memory, &MemoryRegion::used, "memory_used", "memory");
  snapshot.memory = reasons.rows(std::move(pass.memory), "memory_size", "memory");
  add_bandwidth_rates(pass.bandwidth, now);
  snapshot.memory_bandwidth = reasons.rows(std::move(pass.bandwidth), "memory_bandwidth", "imc");
  if (pass.pcie) {
    for (const auto field : {&PcieLink::speed, &PcieLink::max_speed})
      if (!((*pass.pcie).*field)) (*pass.pcie).*field = reasons.missing<TransfersPerSecond>("pcie_link", "pcie");
    for (const auto field : {&PcieLink::width, &PcieLink::max_width})
      if (!((*pass.pcie).*field)) (*pass.pcie).*field = reasons.missing<Lanes>("pcie_link", "pcie");
  }
  snapshot.pcie = reasons.or_missing(std::move(pass.pcie), "pcie_link", "pcie");

  const bool sees_others = reasons.available("processes");
  snapshot.other_users = sees_others ? Reading<Unit>(Unit{}) : reasons.missing<Unit>("processes", "fdinfo");
  std::sort(pass.processes.begin(), pass.processes.end(),
            [](const Process& a, const Process& b) { return a.pid != b.pid ? a.pid < b.pid : a.comm < b.comm; });
  if (!pass.processes.empty() || (pass.process_count && sees_others))
    snapshot.processes = std::move(pass.processes);
  else
    snapshot.processes = reasons.missing<std::vector<Process>>("processes", "fdinfo");
  return snapshot;
}

}  // namespace igpu
