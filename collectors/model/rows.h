// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/scan.h"
#include "igpu/model.h"
#include "model/fields.h"

// The rows that samples are sorted into, and which labels of a sample identify its row.
namespace igpu::model {

using namespace snapshot;

// More than any machine has. The limits bound the memory that a page from an untrusted host can take.
inline constexpr std::size_t kMaxGpus = 128;
inline constexpr std::size_t kMaxRows = 128;        // of one kind, for each GPU
inline constexpr std::size_t kMaxClients = 20'000;  // processes of a host; also the limit of its workloads

inline std::optional<EngineClass> engine_class_of(std::string_view label) {
  for (std::size_t i = 0; i < kEngineClasses; ++i)
    if (to_string(static_cast<EngineClass>(i)) == label) return static_cast<EngineClass>(i);
  return std::nullopt;
}

// The value of a label as the type of the member that keeps it.
template <class T>
auto read(std::string_view label) {
  if constexpr (std::is_same_v<T, std::string>)
    return label;
  else if constexpr (std::is_same_v<T, EngineClass>)
    return engine_class_of(label).value_or(EngineClass::render);
  else if constexpr (std::is_same_v<T, EngineSource>)
    return label == "fdinfo" ? EngineSource::fdinfo : EngineSource::pmu;
  else if constexpr (std::is_same_v<T, std::optional<unsigned>>)
    return label.empty() ? std::nullopt : std::optional(scan_integer<unsigned>(label).value_or(0));
  else
    return scan_integer<T>(label).value_or(0);
}

inline std::string text_of(const std::string& key) { return key; }
inline std::string text_of(EngineClass key) { return std::string(to_string(key)); }
inline std::string text_of(EngineSource key) { return key == EngineSource::fdinfo ? "fdinfo" : "pmu"; }
inline std::string text_of(unsigned key) { return std::to_string(key); }
inline std::string text_of(const std::optional<unsigned>& key) { return key ? std::to_string(*key) : ""; }

// The type of a row in a member of the model.
template <class T>
struct RowIn {
  using Type = T;
};
template <class T>
struct RowIn<Reading<T>> : RowIn<T> {};
template <class T>
struct RowIn<std::vector<T>> : RowIn<T> {};

// A kind of rows: where the model has them, the field that explains a list without rows, and the labels that identify a
// row with the members that keep them.
template <class Model, class Rows, class... Members>
struct Topic {
  using Row = typename RowIn<Rows>::Type;
  static constexpr bool kIsOfHost = std::is_same_v<Model, HostModel>;

  Rows Model::*in;
  std::string_view first;
  std::array<std::string_view, sizeof...(Members)> labels;
  std::tuple<Members...> members;

  std::vector<FieldLabel> labels_of(const Row& row) const {
    return each([&](auto... key) { return std::vector<FieldLabel>{{labels[key.first], text_of(row.*key.second)}...}; });
  }

  // The labels' values as the types of the members.
  auto keys(const Labels& values) const {
    return each([&](auto... key) { return std::tuple(read_as(key.second, values[key.first])...); });
  }
  template <class Keys>
  bool is(const Row& row, const Keys& keys) const {
    return each([&](auto... key) { return ((row.*key.second == std::get<key.first>(keys)) && ...); });
  }
  template <class Keys>
  void name(Row& row, const Keys& keys) const {
    each([&](auto... key) { ((row.*key.second = std::get<key.first>(keys)), ...); });
  }
  std::size_t hash(const Labels& values) const {
    std::size_t hash = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) hash = hash * 31 + std::hash<std::string_view>()(values[i]);
    return hash;
  }

 private:
  template <class Of, class T>
  static auto read_as(T Of::*, std::string_view label) {
    return read<T>(label);
  }
  template <class Use>
  auto each(const Use& use) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return use(std::pair(std::integral_constant<std::size_t, I>(), std::get<I>(members))...);
    }
    (std::index_sequence_for<Members...>());
  }
};
template <class Model, class Rows, class... Members>
constexpr auto topic(Rows Model::*in, std::string_view first, std::array<std::string_view, sizeof...(Members)> labels,
                     Members... members) {
  return Topic<Model, Rows, Members...>{in, first, labels, {members...}};
}

inline constexpr std::tuple kTopics{
    topic(&Snapshot::engines, "engine.busy", {"gt", "engine", "class", "source"}, &Engine::gt, &Engine::name,
          &Engine::engine_class, &Engine::source),
    topic(&Snapshot::frequencies, "frequency.actual", {"gt"}, &Frequency::gt),
    topic(&Snapshot::throttling, "throttling.reasons", {"gt"}, &Throttling::gt),
    topic(&Snapshot::rc6, "rc6.ratio", {"gt"}, &Residency::gt),
    topic(&Snapshot::power, "power.mean", {"domain", "source"}, &Power::domain, &Power::source),
    topic(&Snapshot::power_limits, "power_limit.value", {"domain", "limit"}, &PowerLimit::domain, &PowerLimit::limit),
    topic(&Snapshot::temperatures, "temperature.value", {"sensor"}, &Temperature::sensor),
    topic(&Snapshot::fans, "fan.speed", {"fan"}, &Fan::name),
    topic(&Snapshot::voltages, "voltage.value", {"domain"}, &Voltage::domain),
    topic(&Snapshot::memory, "memory.size", {"memory_region"}, &MemoryRegion::name),
    topic(&Snapshot::memory_bandwidth, "bandwidth.total", {"direction"}, &Bandwidth::direction),
    topic(&Snapshot::pcie, "pcie.speed", {}),
    topic(&Snapshot::processes, "gpu.processes", {"pid", "comm"}, &Process::pid, &Process::comm),
    topic(&GpuModel::workloads, "", {"workload"}, &WorkloadUse::workload),
    topic(&GpuModel::functions, "", {"vf"}, &VirtualFunction::number),
    topic(&GpuModel::hangs, "", {"kind", "class"}, &Hangs::kind, &Hangs::engine_class),
    topic(&GpuModel::hang_causes, "", {"pid", "comm"}, &HangCause::pid, &HangCause::comm),
    topic(&GpuModel::video_jobs, "", {"pid", "comm", "workload"}, &VideoJobs::pid, &VideoJobs::comm,
          &VideoJobs::workload),
    topic(&GpuModel::temperature_limits, "", {"sensor", "limit"}, &TemperatureLimit::sensor, &TemperatureLimit::limit),
    topic(&HostModel::workloads, "", {"workload"}, &Workload::name),
    topic(&HostModel::npus, "", {"device"}, &Npu::address),
    topic(&HostModel::unbound, "", {"device"}, &snapshot::Unbound::address),
};
template <class Row, std::size_t I = 0>
constexpr const auto& topic_of() {
  if constexpr (std::is_same_v<typename std::tuple_element_t<I, decltype(kTopics)>::Row, Row>)
    return std::get<I>(kTopics);
  else
    return topic_of<Row, I + 1>();
}
template <class Row>
inline constexpr const auto& kTopic = topic_of<Row>();

template <class Row>
class RowList {
 public:
  // Samples are sorted by row or by metric, so the row of the previous sample and the row behind it are tried first.
  // Null: there is no such row.
  Row* find(const Labels& labels) {
    const auto keys = kTopic<Row>.keys(labels);
    const auto is = [&](std::size_t i) { return kTopic<Row>.is(rows[i], keys); };
    for (const std::size_t i : {last_, last_ + 1})
      if (i < rows.size() && is(i)) return &rows[last_ = i];
    if (!index_.empty()) {
      const auto [begin, end] = index_.equal_range(kTopic<Row>.hash(labels));
      for (auto at = begin; at != end; ++at)
        if (is(at->second)) return &rows[last_ = at->second];
    }
    for (std::size_t i = 0; i < std::min(rows.size(), kSearched); ++i)
      if (is(i)) return &rows[last_ = i];
    return nullptr;
  }
  Row& add(const Labels& labels) {
    last_ = rows.size();
    if (last_ >= kSearched) index_.emplace(kTopic<Row>.hash(labels), last_);
    kTopic<Row>.name(rows.emplace_back(), kTopic<Row>.keys(labels));
    return rows.back();
  }

  std::vector<Row> rows;

 private:
  static constexpr std::size_t kSearched = 64;

  std::size_t last_ = 0;
  std::unordered_multimap<std::size_t, std::size_t> index_;  // of the rows from kSearched on
};

template <class... Rows>
struct RowLists {
  std::tuple<RowList<Rows>...> lists;

  template <class Row>
  std::vector<Row>& of() {
    return std::get<RowList<Row>>(lists).rows;
  }
};

struct GpuRows : RowLists<Engine, Frequency, Throttling, Residency, Power, PowerLimit, Temperature, Fan, Voltage,
                          MemoryRegion, Bandwidth, PcieLink, Process, WorkloadUse, VirtualFunction, Hangs, HangCause,
                          VideoJobs, TemperatureLimit> {
  GpuModel model;  // values that are not rows
  std::vector<FeatureState> features;
};

struct HostRows : RowLists<Workload, Npu, snapshot::Unbound> {
  std::size_t processes = 0, workload_uses = 0;  // of all GPUs
  HostModel model;                               // values that are not rows
};

template <class Row>
RowList<Row>& list_of(const Target& to) {
  if constexpr (kTopic<Row>.kIsOfHost)
    return std::get<RowList<Row>>(to.host.lists);
  else
    return std::get<RowList<Row>>(to.gpu->lists);
}

// The row that a sample belongs to; a new one if needed. Null: there are too many rows, or the engine's class is
// unknown.
template <class Row>
Row* row_of(const Target& to, const Labels& labels) {
  RowList<Row>& list = list_of<Row>(to);
  if (Row* row = list.find(labels)) return row;
  if (std::is_same_v<Row, Engine> && !engine_class_of(labels[2])) return nullptr;
  if constexpr (std::is_same_v<Row, Process> || std::is_same_v<Row, WorkloadUse>) {
    std::size_t& used = std::is_same_v<Row, Process> ? to.host.processes : to.host.workload_uses;
    if (used >= kMaxClients) {
      ++to.host.model.rows_left_out;
      return nullptr;
    }
    ++used;
  } else if (list.rows.size() >= (std::is_same_v<Row, Workload> ? kMaxClients : kMaxRows)) {
    return nullptr;
  }
  return &list.add(labels);
}

}  // namespace igpu::model
