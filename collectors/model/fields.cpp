// SPDX-License-Identifier: Apache-2.0
#include "model/fields.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

#include "igpu/error.h"
#include "igpu/model.h"
#include "igpu/words.h"
#include "model/rules.h"

namespace igpu::model {

using namespace snapshot;
namespace {

// What a pointer to a member points at. Of an array by EngineClass: its elements.
template <class T>
struct ValueOf {
  using Quantity = T;
  static constexpr bool kMayBeMissing = false;
};
template <class T>
struct ValueOf<Reading<T>> : ValueOf<T> {
  static constexpr bool kMayBeMissing = true;
};
template <class T>
struct ValueOf<std::array<T, kEngineClasses>> : ValueOf<T> {
  static constexpr bool kMayBeMissing = false;  // set when the row is made
};
template <auto Member>
struct MemberOf;
template <class R, class T, T R::*Member>
struct MemberOf<Member> {
  using Row = R;
  using Quantity = typename ValueOf<T>::Quantity;
  static constexpr bool kMayBeMissing = ValueOf<T>::kMayBeMissing;
};

template <auto Member>
void store(const Target& to, const Labels& labels, double value) {
  using Of = MemberOf<Member>;
  if (auto* row = row_of<typename Of::Row>(to, labels)) row->*Member = typename Of::Quantity{value};
}

template <auto Member>
void explain(GpuRows& rows, const Reasons& reasons, const Why& why) {
  using Of = MemberOf<Member>;
  std::optional<Reading<typename Of::Quantity>> missing;
  for (auto& row : rows.of<typename Of::Row>()) {
    if (row.*Member) continue;
    if (!missing) missing = reasons.missing<typename Of::Quantity>(why);
    row.*Member = *missing;
  }
}

Reading<double> number(bool value) { return value ? 1.0 : 0.0; }
template <class Tag>
Reading<double> number(const Quantity<Tag>& value) {
  return value.value;
}
template <class T>
Reading<double> number(const Reading<T>& value) {
  return value ? number(*value) : value.template propagate<double>();
}

// Calls add(row, labels) for each row that the snapshot has.
template <class Row, class Add>
Reading<std::vector<FieldValue>> each_row(const Snapshot& snapshot, const Add& add) {
  const auto& rows = snapshot.*kTopic<Row>.in;
  if (!rows) return rows.template propagate<std::vector<FieldValue>>();
  std::vector<FieldValue> made;
  if constexpr (std::is_same_v<std::decay_t<decltype(*rows)>, Row>)
    add(made, *rows, kTopic<Row>.labels_of(*rows));
  else
    for (const Row& row : *rows) add(made, row, kTopic<Row>.labels_of(row));
  return made;
}

// --- A GPU as a whole ---

// The rows that stand for it.
template <class Row>
bool stands_for(const Snapshot&, const Row&) {
  return true;
}
bool stands_for(const Snapshot& gpu, const Power& row) { return &row == draw_of(gpu); }
bool stands_for(const Snapshot& gpu, const PowerLimit& row) { return &row == power_limit_of(gpu); }
bool stands_for(const Snapshot& gpu, const Temperature& row) { return &row == temperature_of(gpu); }
bool stands_for(const Snapshot& gpu, const MemoryRegion& row) { return (row.name != "system") == memory_of(gpu).own; }

// The rows that a key names: any label's value is one.
template <class Row>
bool is_named(const Snapshot&, const Row& row, std::string_view key) {
  return std::ranges::any_of(kTopic<Row>.labels_of(row), [&](const FieldLabel& label) { return label.value == key; });
}
bool is_named(const Snapshot&, const Engine& row, std::string_view key) {
  const std::string_view name = to_string(row.engine_class);
  return row.name == key || name == key || (key == "media" && name.starts_with(to_string(EngineClass::video)));
}
// The GPU of a card without the rest of it is its package.
bool is_named(const Snapshot&, const Power& row, std::string_view key) {
  return row.domain == key || row.source == key || (key == "gpu" && row.domain == "package" && row.source == "hwmon");
}
// From Meteor Lake on, GT 1 has the video engines. On a card with several tiles, each with memory of its own, it is the
// second tile.
bool is_named(const Snapshot& gpu, const Frequency& row, std::string_view key) {
  if (key != "media") return text_of(row.gt) == key;
  const auto is_own = [](const MemoryRegion& region) { return region.name != "system"; };
  const bool has_tiles = gpu.memory && std::ranges::count_if(*gpu.memory, is_own) > 1;
  return row.gt == 1 && !has_tiles;
}

// How the values of several rows become one.
enum class Whole { first, sum, highest };
template <class Row, class Quantity>
constexpr Whole kWhole = Whole::first;
template <class Row>
constexpr Whole kWhole<Row, Bytes> = Whole::sum;
template <>
constexpr Whole kWhole<Engine, Seconds> = Whole::sum;
template <>
constexpr Whole kWhole<Fan, Rpm> = Whole::highest;

template <auto Member>
Reading<double> one_of(const Snapshot& gpu, std::string_view key) {
  using Row = typename MemberOf<Member>::Row;
  constexpr Whole kHow = kWhole<Row, typename MemberOf<Member>::Quantity>;
  const auto& rows = gpu.*kTopic<Row>.in;
  if (!rows) return rows.template propagate<double>();
  if constexpr (std::is_same_v<std::decay_t<decltype(*rows)>, Row>) {
    return number((*rows).*Member);
  } else {
    Reading<double> made = Absent{Reason::hardware};
    for (const Row& row : *rows) {
      if (!(key.empty() ? stands_for(gpu, row) : is_named(gpu, row, key))) continue;
      const Reading<double> value = number(row.*Member);
      if (!value || kHow == Whole::first) return value;
      made = !made ? *value : kHow == Whole::sum ? *made + *value : std::max(*made, *value);
    }
    return made;
  }
}

// The mean over the engines of a class, of "media" over all that code or change video; without a key, of the busiest
// class. Another key is the name of an engine.
template <auto Member, Reading<Ratio> EngineClassLoad::*OfClass>
Reading<double> one_of_engines(const Snapshot& gpu, std::string_view key) {
  if (!gpu.engine_classes) return gpu.engine_classes.propagate<double>();
  if (!key.empty() && key != "media" && !engine_class_of(key)) return one_of<Member>(gpu, key);
  Reading<double> made = Absent{Reason::hardware};
  double sum = 0, engines = 0;
  for (const EngineClassLoad& load : *gpu.engine_classes) {
    const std::string_view name = to_string(load.engine_class);
    const Reading<double> value = number(load.*OfClass);
    if (name == key) return value;
    if (key.empty() && (!made || (value && *value > *made))) made = value;
    if (key != "media" || !name.starts_with(to_string(EngineClass::video))) continue;
    if (!value && engines == 0) made = value;
    if (!value) continue;
    sum += *value * load.engines;
    engines += load.engines;
    made = sum / engines;
  }
  return made;
}

// Of the GPU's memory, or of the regions that the key names.
template <class Rule>
Reading<double> of_memory(const Snapshot& gpu, std::string_view key, Rule rule) {
  const Reading<double> used = one_of<&MemoryRegion::used>(gpu, key);
  if (!used) return used;
  return one_of<&MemoryRegion::size>(gpu, key).map([&](double size) { return rule(*used, size); });
}
Reading<double> free_memory(const Snapshot& gpu, std::string_view key) {
  return of_memory(gpu, key, [](double used, double size) { return std::max(size - used, 0.0); });
}
Reading<double> share_of_memory(const Snapshot& gpu, std::string_view key) {
  return of_memory(gpu, key, [](double used, double size) { return size > 0 ? used / size : 0; });
}

// PCI Express Base Specification: the rate of a lane by generation.
template <Reading<TransfersPerSecond> PcieLink::*Speed>
Reading<double> generation(const Snapshot& gpu, std::string_view) {
  const Reading<double> rate = one_of<Speed>(gpu, "");
  if (!rate) return rate;
  constexpr std::array kRates{2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  for (std::size_t i = 0; i < kRates.size(); ++i)
    if (std::abs(*rate - kRates[i]) < 1e8) return static_cast<double>(i + 1);
  return Absent{Reason::kernel};
}

Reading<std::string> reasons_of(const Snapshot& gpu) {
  if (!gpu.throttling) return gpu.throttling.propagate<std::string>();
  const std::string text = joined(throttle_reasons(gpu), "+");
  return text.empty() ? "none" : text;
}

template <auto Member>
Reading<std::vector<FieldValue>> rows_of(const Snapshot& snapshot) {
  return each_row<typename MemberOf<Member>::Row>(snapshot,
                                                  [](auto& out, const auto& row, std::vector<FieldLabel> labels) {
                                                    out.push_back({std::move(labels), number(row.*Member)});
                                                  });
}

template <class Row, class Owner, class Rows>
constexpr bool in_snapshot(Rows Owner::*) {
  return std::is_same_v<Owner, Snapshot>;
}

constexpr bool ends_in(std::string_view metric, std::string_view unit) {
  if (metric.ends_with("_total")) metric.remove_suffix(6);
  return unit.empty() || metric.ends_with(unit);
}

struct Only {
  std::string_view label, is;
};

// A member of a row. Not consteval: clang 14 rejects its call by other consteval functions.
template <auto Member>
constexpr Field field(std::string_view path, std::string_view metric, Only only, Why why) {
  using Of = MemberOf<Member>;
  Field made{.path = path, .metric = metric, .is = only.is, .unit = Of::Quantity::kSuffix, .why = why};
  const auto& keys = kTopic<typename Of::Row>.labels;
  const auto end = std::copy(keys.begin(), keys.end(), made.labels.begin());
  if (!only.label.empty()) *end = only.label;
  if (kTopic<typename Of::Row>.kIsOfHost) made.scope = Scope::host;
  made.store = store<Member>;
  if constexpr (in_snapshot<typename Of::Row>(kTopic<typename Of::Row>.in) &&
                !std::is_same_v<typename Of::Row, Process>)
    made.one = one_of<Member>;
  if constexpr (Of::kMayBeMissing && !kTopic<typename Of::Row>.kIsOfHost) made.explain = explain<Member>;
  if constexpr (in_snapshot<typename Of::Row>(kTopic<typename Of::Row>.in)) made.values = rows_of<Member>;
  if (!ends_in(metric, made.unit)) throw "the metric has another unit";
  return made;
}
template <auto Member>
consteval Field field(std::string_view path, std::string_view metric, Why why = {}) {
  return field<Member>(path, metric, Only{}, why);
}

// A member of rows by EngineClass; the last label is the class.
template <auto Member>
consteval Field field_by_class(std::string_view path, std::string_view metric) {
  Field made = field<&MemberOf<Member>::Row::clients>(path, "", {"class", ""}, {});
  using Quantity = typename MemberOf<Member>::Quantity;
  made.metric = metric;
  made.unit = Quantity::kSuffix;
  made.one = nullptr;
  made.explain = [](GpuRows& rows, const Reasons&, const Why&) {
    for (auto& row : rows.of<typename MemberOf<Member>::Row>())
      for (auto& value : row.*Member)
        if (!value) value = Absent{Reason::hardware};  // the client has no time of that class
  };
  made.store = [](const Target& to, const Labels& labels, double value) {
    using Row = typename MemberOf<Member>::Row;
    const auto of = engine_class_of(labels[kTopic<Row>.labels.size()]);
    if (!of) return;
    if (Row* row = row_of<Row>(to, labels)) (row->*Member)[static_cast<std::size_t>(*of)] = Quantity{value};
  };
  if constexpr (in_snapshot<typename MemberOf<Member>::Row>(kTopic<typename MemberOf<Member>::Row>.in))
    made.values = [](const Snapshot& snapshot) {
      return each_row<typename MemberOf<Member>::Row>(snapshot, [](auto& out, const auto& row, const auto& labels) {
        for (std::size_t i = 0; i < kEngineClasses; ++i) {
          FieldValue& value = out.emplace_back(FieldValue{labels, number((row.*Member)[i])});
          value.labels.push_back({"class", text_of(static_cast<EngineClass>(i))});
        }
      });
    };
  return made;
}

// A list in a row, by region and state.
template <class Row>
consteval Field memory(std::string_view path, std::string_view metric) {
  Field made = field<&Row::clients>(path, "", {"memory_region", ""}, {});
  constexpr std::size_t kRegion = kTopic<Row>.labels.size();
  made.metric = metric;
  made.unit = Bytes::kSuffix;
  made.explain = nullptr;
  made.labels[kRegion + 1] = "state";
  if constexpr (std::is_same_v<Row, WorkloadUse>) made.labels[kRegion + 2] = "source";
  made.store = [](const Target& to, const Labels& labels, double value) {
    Row* row = row_of<Row>(to, labels);
    if (row == nullptr || row->memory.size() >= kMaxRows) return;
    // What the cgroups were charged stands in for clients that are not visible; a page has it last.
    if (std::is_same_v<Row, WorkloadUse> && labels[kRegion + 2] == "dmem" && row->clients) return;
    row->memory.push_back({std::string(labels[kRegion]), std::string(labels[kRegion + 1]), Bytes{value}});
  };
  if constexpr (in_snapshot<Row>(kTopic<Row>.in))
    made.values = [](const Snapshot& snapshot) {
      return each_row<Row>(snapshot, [](auto& out, const auto& row, const auto& labels) {
        for (const ProcessMemory& memory : row.memory) {
          FieldValue& value = out.emplace_back(FieldValue{labels, number(memory.value)});
          value.labels.push_back({"memory_region", memory.region});
          value.labels.push_back({"state", memory.state});
        }
      });
    };
  return made;
}

template <auto One>
Reading<std::vector<FieldValue>> one_value(const Snapshot& gpu) {
  return std::vector{FieldValue{{}, One(gpu, "")}};
}

template <auto Member>
Reading<double> own_value(const Snapshot& gpu, std::string_view) {
  return number(static_cast<const typename MemberOf<Member>::Row&>(gpu).*Member);
}

// Computed from the field of the same metric that stands before it.
template <auto One>
consteval Field computed(std::string_view path, std::string_view metric, std::string_view unit, Why why) {
  return {.path = path, .metric = metric, .unit = unit, .why = why, .values = one_value<One>, .one = One};
}

template <Reading<Ratio> Engine::*Member, Reading<Ratio> EngineClassLoad::*OfClass>
consteval Field of_engines(std::string_view path, std::string_view metric, Why why) {
  Field made = field<Member>(path, metric, Only{}, why);
  made.one = one_of_engines<Member, OfClass>;
  return made;
}

consteval Field titled(std::string_view title, Field field, std::string_view keys = {}) {
  field.title = title;
  field.keys = keys;
  return field;
}

// Of the GPU itself.
template <auto Member>
consteval Field of_gpu(std::string_view path, std::string_view metric, Only only, Why why) {
  using Value = typename MemberOf<Member>::Quantity;
  Field made{.path = path, .metric = metric, .labels = {only.label}, .is = only.is, .why = why};
  made.store = [](const Target& to, const Labels&, double value) {
    if constexpr (std::is_same_v<Value, bool>)
      to.gpu->model.*Member = value != 0;
    else
      to.gpu->model.*Member = Value{value};
  };
  made.explain = [](GpuRows& rows, const Reasons& reasons, const Why& of) {
    if (!(rows.model.*Member)) rows.model.*Member = reasons.missing<Value>(of);
  };
  made.one = own_value<Member>;
  if constexpr (std::is_same_v<typename MemberOf<Member>::Row, Snapshot>) made.values = one_value<own_value<Member>>;
  if constexpr (std::is_same_v<Value, bool>)
    made.truth = true;
  else
    made.unit = Value::kSuffix;
  return made;
}

template <auto Member>
consteval Field of_gpu(std::string_view path, std::string_view metric, Why why = {}) {
  return of_gpu<Member>(path, metric, Only{}, why);
}

using Store = void (*)(const Target&, const Labels&, double);
consteval Field text(std::string_view path, std::string_view metric, Labels labels, Store store,
                     Scope scope = Scope::gpu, Why why = {}) {
  return {.path = path, .metric = metric, .labels = labels, .scope = scope, .store = store, .why = why};
}

void put_identity(const Target& to, const Labels& l, double) {
  Gpu& gpu = to.gpu->model.gpu;
  to.gpu->model.identified = true;
  gpu.card = l[0];
  gpu.render_node = l[1];
  for (const Driver driver : {Driver::i915, Driver::xe, Driver::wddm})
    if (l[2] == to_string(driver)) gpu.driver = driver;
  gpu.name = l[3];
  gpu.kind = l[4] == to_string(GpuKind::discrete) ? GpuKind::discrete : GpuKind::integrated;
}

void put_fault(const Target& to, const Labels& l, double value) {
  std::vector<Fault>& faults = to.gpu->model.faults;
  if (faults.size() < kMaxRows) faults.push_back({std::string(l[0]), Seconds{value}});
}

// A series for each kind.
void put_reset(const Target& to, const Labels&, double value) {
  Reading<Count>& resets = to.gpu->model.resets;
  resets = Count{resets.value_or({}).value + value};
}

// A series for each port, severity and type.
void put_pcie_error(const Target& to, const Labels& l, double value) {
  Reading<Count>& errors = to.gpu->model.uncorrectable_pcie_errors;
  errors = Count{errors.value_or({}).value + (l[0] == "correctable" ? 0 : value)};
}

void put_may_sleep(const Target& to, const Labels& l, double) { to.gpu->model.may_sleep = l[0] == "auto"; }

void put_throttled(const Target& to, const Labels& l, double value) {
  Throttling* const row = row_of<Throttling>(to, l);
  if (row == nullptr) return;
  if (value != 0) row->limited = true;
  // The driver's sum of all reasons; some kernels give no other.
  if (l[1] == "any" || row->known.size() >= kMaxRows) return;
  row->known.emplace_back(l[1]);
  if (value != 0) row->reasons.emplace_back(l[1]);
}

// A row for each reason that a GT can report, 1 while it limits, and one for any of them.
Reading<std::vector<FieldValue>> throttling_rows(const Snapshot& gpu) {
  return each_row<Throttling>(gpu, [](auto& out, const Throttling& row, const auto& labels) {
    const auto add = [&](const std::string& reason, bool limits) {
      out.emplace_back(FieldValue{labels, number(limits)}).labels.push_back({"reason", reason});
    };
    add("any", row.limited);
    for (const std::string& reason : row.known) add(reason, contains(row.reasons, reason));
  });
}

// A row for each process, 1.
Reading<std::vector<FieldValue>> process_rows(const Snapshot& gpu) {
  return each_row<Process>(gpu, [](auto& out, const Process& row, const auto& labels) {
    FieldValue& value = out.emplace_back(FieldValue{labels, number(true)});
    for (const auto& [name, text] : {std::pair("user", row.user),
                                     {"cgroup", row.cgroup},
                                     {"container_id", row.container_id},
                                     {"pod_uid", row.pod_uid},
                                     {"systemd_unit", row.systemd_unit}})
      value.labels.push_back({name, text});
  });
}

// The labels from this one on, each as the text of a member.
template <std::size_t First, class Row, std::string Row::*... Members>
void put_texts(const Target& to, const Labels& l, double) {
  std::size_t label = First;
  if (Row* const row = row_of<Row>(to, l)) ((row->*Members = l[label++]), ...);
}

void put_function_busy(const Target& to, const Labels& l, double value) {  // a series for each engine
  const auto of = engine_class_of(l[1]);
  VirtualFunction* const row = of ? row_of<VirtualFunction>(to, l) : nullptr;
  if (row == nullptr) return;
  auto load = std::ranges::find(row->busy, *of, &EngineClassLoad::engine_class);
  if (load == row->busy.end()) load = row->busy.insert(load, EngineClassLoad{.engine_class = *of});
  const double sum = load->busy.value_or({}).value * load->engines + value;
  load->busy = Ratio{sum / ++load->engines};
}

consteval Field process_info(std::string_view path, std::string_view metric) {
  Field made = text(path, metric, {"pid", "comm", "user", "cgroup", "container_id", "pod_uid", "systemd_unit"},
                    put_texts<2, Process, &Process::user, &Process::cgroup, &Process::container_id, &Process::pod_uid,
                              &Process::systemd_unit>);
  made.values = process_rows;
  return made;
}

consteval Field throttling(std::string_view path, std::string_view metric) {
  Field made = text(path, metric, {"gt", "reason"}, put_throttled, Scope::gpu, {"throttle_reasons", "frequency"});
  made.words = reasons_of;
  made.values = throttling_rows;
  return made;
}

consteval Field function_busy(std::string_view path, std::string_view metric) {
  Field made = text(path, metric, {"vf", "class"}, put_function_busy, Scope::gpu, {"vf_engine_busy", "sriov"});
  made.unit = Ratio::kSuffix;
  return made;
}

void put_npu_suspended(const Target& to, const Labels& l, double value) {
  if (Npu* row = row_of<Npu>(to, l)) row->suspended = value != 0;
}

void put_workload_jobs(const Target& to, const Labels& labels, double value) {
  store<&VideoJobs::done>(to, {"", "", labels[0]}, value);
}

void put_workload_cpu(const Target& to, const Labels& l, double value) {  // a series for each mode
  if (Workload* row = row_of<Workload>(to, l)) row->cpu_time = Seconds{row->cpu_time.value_or({}).value + value};
}

void put_feature(const Target& to, const Labels& l, double value) {
  std::vector<FeatureState>& features = to.gpu != nullptr ? to.gpu->features : to.host.model.features;
  if (features.size() >= kMaxRows) return;
  FeatureState& made = features.emplace_back();
  made.name = l[0];
  made.available = value != 0;
  for (const Reason reason :
       {Reason::permission, Reason::kernel, Reason::hardware, Reason::suspended, Reason::disabled})
    if (l[1] == to_string(reason)) made.absent.reason = reason;
}

void put_missing(const Target& to, const Labels& l, double value) {
  std::vector<std::string>& missing = to.gpu != nullptr ? to.gpu->model.missing : to.host.model.missing;
  if (value != 0 && missing.size() < kMaxRows) missing.emplace_back(l[0]);
}

void put_collector(const Target& to, const Labels& l, double value) {
  std::vector<std::string>& failed = to.host.model.failed_collectors;
  if (value == 0 && failed.size() < kMaxRows) failed.emplace_back(l[0]);
}

constexpr Why kOfDriver{};
constexpr Why kEngineBusy{"engine_busy", "engines"}, kWaitSema{"engine_wait_sema", "engines"};
constexpr Why kFrequency{"frequency", "frequency"}, kMean{"frequency_average", "frequency"};
constexpr Why kMemoryUsed{"memory_used", "memory"};
constexpr Why kBandwidth{"memory_bandwidth", "imc"}, kRc6{"rc6", "rc6"}, kPower{"power", "power"},
    kLink{"pcie_link", "pcie"};
constexpr Why kProcesses{"processes", "fdinfo"};
constexpr Why kFunctions{"virtual_functions", "sriov"}, kShares{"vf_shares", "sriov"};
constexpr Why kNpuBusy{"npu_busy", "npu"}, kNpuClock{"npu_frequency", "npu"}, kNpuTelemetry{"npu_telemetry", "npu"};

constexpr Field kFields[] = {
    text("gpu", "intel_gpu_info", {"card", "render_node", "driver", "name", "kind"}, put_identity),
    of_gpu<&GpuModel::suspended>("gpu.suspended", "intel_gpu_runtime_suspended"),
    of_gpu<&GpuModel::hang_captured>("gpu.hang_captured", "intel_gpu_error_state", {"error_state", ""}),
    of_gpu<&GpuModel::wedged>("gpu.wedged", "intel_gpu_wedged", {"wedged", "health"}),
    text("gpu.faults", "intel_gpu_last_fault_timestamp_seconds", {"kind"}, put_fault),
    field<&Hangs::count>("hangs.count", "intel_gpu_hangs_total"),
    field<&HangCause::hangs>("hang_cause.hangs", "intel_gpu_process_hangs_total"),
    text("gpu.resets", "intel_gpu_resets_total", {"kind"}, put_reset),
    text("gpu.uncorrectable_pcie_errors", "intel_gpu_pcie_errors_total", {"severity"}, put_pcie_error),
    of_gpu<&GpuModel::survivability>("gpu.survivability", "intel_gpu_survivability_mode",
                                     {"survivability_mode", "health"}),
    text("gpu.may_sleep", "intel_gpu_runtime_pm_info", {"control"}, put_may_sleep),
    of_gpu<&GpuModel::interrupts>("gpu.interrupts", "intel_gpu_interrupts_total", {"interrupts", "engines"}),

    titled("Busy",
           of_engines<&Engine::busy, &EngineClassLoad::busy>("engine.busy", "intel_gpu_engine_busy_ratio", kEngineBusy),
           "render copy video video_enhance compute"),
    field<&Engine::busy_time>("engine.busy_time", "intel_gpu_engine_busy_seconds_total", kEngineBusy),
    of_engines<&Engine::wait, &EngineClassLoad::wait>("engine.wait", "intel_gpu_engine_wait_ratio", kWaitSema),
    of_engines<&Engine::sema, &EngineClassLoad::sema>("engine.sema", "intel_gpu_engine_sema_ratio", kWaitSema),

    titled("Frequency",
           field<&Frequency::actual>("frequency.actual", "intel_gpu_frequency_hertz", {"kind", "actual"}, kFrequency)),
    titled("Requested frequency", field<&Frequency::requested>("frequency.requested", "intel_gpu_frequency_hertz",
                                                               {"kind", "requested"}, kFrequency)),
    field<&Frequency::mean_actual>("frequency.mean_actual", "intel_gpu_frequency_average_hertz", {"kind", "actual"},
                                   kMean),
    field<&Frequency::mean_requested>("frequency.mean_requested", "intel_gpu_frequency_average_hertz",
                                      {"kind", "requested"}, kMean),
    field<&Frequency::min>("frequency.min", "intel_gpu_frequency_limit_hertz", {"limit", "min"}, kOfDriver),
    field<&Frequency::max>("frequency.max", "intel_gpu_frequency_limit_hertz", {"limit", "max"}, kOfDriver),
    field<&Frequency::boost>("frequency.boost", "intel_gpu_frequency_limit_hertz", {"limit", "boost"}, kOfDriver),
    field<&Frequency::rp0>("frequency.rp0", "intel_gpu_frequency_limit_hertz", {"limit", "rp0"}, kOfDriver),
    field<&Frequency::rp1>("frequency.rp1", "intel_gpu_frequency_limit_hertz", {"limit", "rp1"}, kOfDriver),
    field<&Frequency::rpn>("frequency.rpn", "intel_gpu_frequency_limit_hertz", {"limit", "rpn"}, kOfDriver),
    field<&Frequency::rpe>("frequency.rpe", "intel_gpu_frequency_limit_hertz", {"limit", "rpe"}, kOfDriver),
    field<&Frequency::rpa>("frequency.rpa", "intel_gpu_frequency_limit_hertz", {"limit", "rpa"}, kOfDriver),
    throttling("throttling.reasons", "intel_gpu_throttled"),
    field<&Residency::ratio>("rc6.ratio", "intel_gpu_rc6_residency_ratio", kRc6),
    field<&Residency::time>("rc6.time", "intel_gpu_rc6_residency_seconds_total", kRc6),

    titled("Power", field<&Power::mean>("power.mean", "intel_gpu_power_watts", kPower), "gpu package"),
    titled("Energy", field<&Power::energy>("power.energy", "intel_gpu_energy_joules_total", kPower)),
    field<&PowerLimit::value>("power_limit.value", "intel_gpu_power_limit_watts", {"power_limits", "hwmon"}),
    titled("Temperature",
           field<&Temperature::value>("temperature.value", "intel_gpu_temperature_celsius", {"temperature", "hwmon"}),
           "vram mctrl pcie"),
    field<&TemperatureLimit::value>("temperature_limit.value", "intel_gpu_temperature_limit_celsius"),
    titled("Fan", field<&Fan::speed>("fan.speed", "intel_gpu_fan_speed_rpm", {"fan", "hwmon"})),
    field<&Voltage::value>("voltage.value", "intel_gpu_voltage_volts", {"voltage", "hwmon"}),

    titled("Memory used", field<&MemoryRegion::used>("memory.used", "intel_gpu_memory_used_bytes", kMemoryUsed)),
    computed<free_memory>("memory.free", "intel_gpu_memory_used_bytes", Bytes::kSuffix, kMemoryUsed),
    computed<share_of_memory>("memory.used_ratio", "intel_gpu_memory_used_bytes", Ratio::kSuffix, kMemoryUsed),
    field<&MemoryRegion::size>("memory.size", "intel_gpu_memory_size_bytes", {"memory_size", "memory"}),
    field<&Bandwidth::total>("bandwidth.total", "intel_gpu_memory_bandwidth_bytes_total", kBandwidth),
    {.path = "bandwidth.rate",
     .metric = "intel_gpu_memory_bandwidth_bytes_total",
     .labels = {"direction"},
     .unit = BytesPerSecond::kSuffix,
     .why = kBandwidth,
     .values = rows_of<&Bandwidth::rate>},  // between two readings: a page has none
    field<&PcieLink::speed>("pcie.speed", "intel_gpu_pcie_link_speed_transfers_per_second", {"bound", "current"},
                            kLink),
    field<&PcieLink::max_speed>("pcie.max_speed", "intel_gpu_pcie_link_speed_transfers_per_second", {"bound", "max"},
                                kLink),
    computed<generation<&PcieLink::speed>>("pcie.generation", "intel_gpu_pcie_link_speed_transfers_per_second", "",
                                           kLink),
    computed<generation<&PcieLink::max_speed>>("pcie.max_generation", "intel_gpu_pcie_link_speed_transfers_per_second",
                                               "", kLink),
    field<&PcieLink::width>("pcie.width", "intel_gpu_pcie_link_width_lanes", {"bound", "current"}, kLink),
    field<&PcieLink::max_width>("pcie.max_width", "intel_gpu_pcie_link_width_lanes", {"bound", "max"}, kLink),

    of_gpu<&GpuModel::slot_speed>("pcie.slot_speed", "intel_gpu_pcie_slot_speed_transfers_per_second", kLink),
    of_gpu<&GpuModel::slot_width>("pcie.slot_width", "intel_gpu_pcie_slot_width_lanes", kLink),

    of_gpu<&GpuModel::process_count>("gpu.processes", "intel_gpu_processes", kProcesses),
    of_gpu<&GpuModel::processes_dropped>("gpu.processes_dropped", "intel_gpu_processes_dropped", kProcesses),
    field<&Process::clients>("process.clients", "intel_gpu_process_clients", kProcesses),
    field_by_class<&Process::busy>("process.busy", "intel_gpu_process_engine_busy_ratio"),
    field_by_class<&Process::busy_time>("process.busy_time", "intel_gpu_process_engine_busy_seconds_total"),
    memory<Process>("process.memory", "intel_gpu_process_memory_bytes"),
    process_info("process", "intel_gpu_process_info"),
    field<&Process::cpu_time>("process.cpu_time", "intel_gpu_process_cpu_seconds_total", kProcesses),
    field<&Process::resident_memory>("process.resident_memory", "intel_gpu_process_resident_memory_bytes", kProcesses),
    field<&Process::virtual_memory>("process.virtual_memory", "intel_gpu_process_virtual_memory_bytes", kProcesses),

    field_by_class<&WorkloadUse::busy>("workload.busy", "intel_gpu_workload_engine_busy_ratio"),
    memory<WorkloadUse>("workload.memory", "intel_gpu_workload_memory_bytes"),
    field<&WorkloadUse::clients>("workload.clients", "intel_gpu_workload_clients"),
    text("workload.video_jobs", "intel_gpu_workload_video_jobs_total", {"workload"}, put_workload_jobs),
    text("process.video_jobs", "intel_gpu_process_video_jobs_total", {"pid", "comm"}, store<&VideoJobs::done>),
    field<&Workload::processes>("workload.processes", "intel_gpu_workload_processes"),
    field<&Workload::resident_memory>("workload.resident_memory", "intel_gpu_workload_resident_memory_bytes"),
    text("workload.cpu_time", "intel_gpu_workload_cpu_seconds_total", {"workload"}, put_workload_cpu, Scope::host),
    text("workload", "intel_gpu_workload_info", {"workload", "kind", "container_id", "pod_uid", "systemd_unit"},
         put_texts<1, Workload, &Workload::kind, &Workload::container_id, &Workload::pod_uid, &Workload::systemd_unit>,
         Scope::host),

    of_gpu<&GpuModel::functions_enabled>("gpu.functions_enabled", "intel_gpu_vfs", {"state", "enabled"}, kFunctions),
    of_gpu<&GpuModel::functions_total>("gpu.functions_total", "intel_gpu_vfs", {"state", "total"}, kFunctions),
    text(
        "function", "intel_gpu_vf_info", {"vf", "vf_address", "driver", "workload"},
        put_texts<1, VirtualFunction, &VirtualFunction::address, &VirtualFunction::driver, &VirtualFunction::workload>),
    function_busy("function.busy", "intel_gpu_vf_engine_busy_ratio"),
    field<&VirtualFunction::exec_quantum>("function.exec_quantum", "intel_gpu_vf_exec_quantum_seconds", kShares),
    field<&VirtualFunction::vram_quota>("function.vram_quota", "intel_gpu_vf_vram_quota_bytes", kShares),

    text("npu", "intel_npu_info", {"device", "accel", "device_id", "name"},
         put_texts<1, Npu, &Npu::accel, &Npu::device_id, &Npu::name>, Scope::host),
    text("npu.suspended", "intel_npu_runtime_suspended", {"device"}, put_npu_suspended, Scope::host),
    field<&Npu::busy>("npu.busy", "intel_npu_busy_ratio", kNpuBusy),
    field<&Npu::busy_time>("npu.busy_time", "intel_npu_busy_seconds_total", kNpuBusy),
    field<&Npu::resident_memory>("npu.resident_memory", "intel_npu_memory_resident_bytes", {"npu_memory", "npu"}),
    field<&Npu::frequency>("npu.frequency", "intel_npu_frequency_hertz", {"bound", "current"}, kNpuClock),
    field<&Npu::max_frequency>("npu.max_frequency", "intel_npu_frequency_hertz", {"bound", "max"}, kNpuClock),
    field<&Npu::power>("npu.power", "intel_npu_power_watts", kNpuTelemetry),
    field<&Npu::temperature>("npu.temperature", "intel_npu_temperature_celsius", kNpuTelemetry),
    field<&Npu::recoveries>("npu.recoveries", "intel_npu_recoveries_total", {"npu_recoveries", "npu"}),

    text("unbound", "intel_gpu_unbound", {"device", "device_id", "name", "reason"},
         put_texts<1, Unbound, &Unbound::device_id, &Unbound::name, &Unbound::reason>, Scope::host),
    text("unbound.driver", "intel_gpu_unbound_driver_info", {"device", "driver"},
         put_texts<1, Unbound, &Unbound::driver>, Scope::host),
    text("unbound.probe", "intel_gpu_probe_failure_info", {"device", "driver", "error", "firmware"},
         put_texts<1, Unbound, &Unbound::driver, &Unbound::error, &Unbound::firmware>, Scope::host),

    text("feature", "intel_gpu_exporter_feature_available", {"feature", "reason"}, put_feature, Scope::either),
    text("feature.missing", "intel_gpu_exporter_feature_missing", {"feature"}, put_missing, Scope::either),
    text("collector.failed", "intel_gpu_scrape_collector_success", {"collector"}, put_collector, Scope::host),
};

// A count behind a ratio, histograms, or a detail that no view shows.
constexpr std::string_view kLeftOut[] = {
    "intel_npu_process_memory_bytes",
    "intel_npu_energy_joules_total",
    "intel_gpu_engine_wait_seconds_total",
    "intel_gpu_engine_sema_seconds_total",
    "intel_gpu_engine_active_ticks_total",
    "intel_gpu_engine_ticks_total",
    "intel_gpu_frequency_cycles_total",
    "intel_gpu_awake_seconds_total",
    "intel_gpu_current_limit_amperes",
    "intel_gpu_power_limit_ratio",
    "intel_gpu_core_dumps_total",
    "intel_gpu_fault_events_lost_total",
    "intel_gpu_firmware_info",
    "intel_gpu_vf_engine_busy_seconds_total",
    "intel_gpu_vf_preempt_timeout_seconds",
    "intel_gpu_vf_adverse_events_total",
    "intel_gpu_connector_connected",
    "intel_gpu_connector_enabled",
    "intel_gpu_connector_info",
    "intel_gpu_hotplug_events_total",
    "intel_gpu_hotplug_events_lost_total",
    "intel_gpu_engine_busy_ratio_max",
    "intel_gpu_engine_busy_ratio_min",
    "intel_gpu_power_watts_max",
    "intel_gpu_frequency_hertz_min",
    "intel_gpu_engine_utilization_ratio",
    "intel_gpu_engine_saturated_seconds_total",
    "intel_gpu_engine_idle_gaps_seconds",
    "intel_gpu_throttled_seconds_total",
    "intel_gpu_exporter_samples_missed_total",
    "intel_gpu_workload_engine_busy_seconds_total",
    "intel_gpu_workload_started_total",
    "intel_gpu_workload_disk_read_bytes_total",
    "intel_gpu_workload_disk_written_bytes_total",
    "intel_gpu_workload_job_queue_seconds",
    "intel_gpu_workload_job_run_seconds",
    "intel_gpu_workload_jobs_total",
    "intel_gpu_fault_events_total",
    "intel_gpu_workload_hangs_total",
};

}  // namespace

std::span<const Field> fields() { return kFields; }

std::span<const Field> fields_of(std::string_view metric) {
  const auto is = [&](const Field& field) { return field.metric == metric; };
  const auto begin = std::ranges::find_if(kFields, is);
  return {begin, std::find_if_not(begin, std::end(kFields), is)};
}

const Field* field_at(std::string_view path) {
  const auto found = std::ranges::find(kFields, path, &Field::path);
  return found == std::end(kFields) ? nullptr : &*found;
}

std::span<const std::string_view> metrics_left_out() { return kLeftOut; }

}  // namespace igpu::model
