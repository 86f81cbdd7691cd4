// SPDX-License-Identifier: Apache-2.0
#include "support/adapter_script.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <sstream>

namespace igpu::test {
namespace {

constexpr std::size_t kMost = 512;  // adapters, and nodes and segments of each: a fuzzer's scripts stay small

template <class... T>
bool take(std::istream& line, T&... values) {
  return (... && static_cast<bool>(line >> values));
}

std::string rest(std::istream& line) {
  std::string text;
  std::getline(line >> std::ws, text);
  return text;
}

std::optional<AdapterQuery> query_of(const std::string& name) {
  const auto at = std::find(std::begin(kAdapterQueries), std::end(kAdapterQueries), name);
  if (at == std::end(kAdapterQueries)) return std::nullopt;
  return static_cast<AdapterQuery>(at - std::begin(kAdapterQueries));
}

void read_line(std::istream& line, std::vector<ScriptAdapter>& adapters) {
  std::string word;
  line >> word;
  if (word == "adapter") {
    AdapterFacts facts;
    if (adapters.size() < kMost &&
        take(line, std::hex, facts.luid, facts.vendor, facts.device, std::dec, facts.bus, facts.slot, facts.function)) {
      facts.name = rest(line);
      adapters.emplace_back().facts = facts;
    }
    return;
  }
  if (adapters.empty()) return;
  ScriptAdapter& adapter = adapters.back();
  std::uint32_t number = 0;
  if (word == "seen") {
    take(line, adapter.first, adapter.last);
  } else if (word == "node") {
    ScriptNode node;
    if (adapter.nodes.size() < kMost && take(line, node.type, node.permille)) {
      node.name = rest(line);
      adapter.nodes.push_back(node);
    }
  } else if (word == "clock") {
    NodeClock clock;
    if (take(line, number, clock.hertz, clock.max_hertz) && number < adapter.nodes.size())
      adapter.nodes[number].clock = clock;
  } else if (word == "running") {
    std::int64_t value = 0;
    if (take(line, number, value) && number < adapter.nodes.size()) adapter.nodes[number].running = value;
  } else if (word == "segment") {
    AdapterSegment segment;
    std::string kind;
    if (adapter.segments.size() < kMost && take(line, kind, segment.limit, segment.resident)) {
      segment.aperture = kind == "shared";
      adapter.segments.push_back(segment);
    }
  } else if (word == "sizes") {
    take(line, adapter.memory.dedicated, adapter.memory.shared);
  } else if (word == "sensors") {
    AdapterSensors sensors;
    if (take(line, sensors.fan_rpm, sensors.power, sensors.deci_celsius)) adapter.sensors = sensors;
  } else if (word == "counts") {
    AdapterCounts counts;
    if (take(line, counts.nodes, counts.segments)) adapter.counts = counts;
  } else if (word == "process") {
    ScriptUse use;
    if (adapter.uses.size() < kMost && take(line, use.process, use.node, use.permille, use.segment, use.bytes))
      adapter.uses.push_back(use);
  } else if (word == "counter") {
    ScriptCounter counter;
    if (adapter.counters.size() < kMost && take(line, counter.pid, counter.node, counter.permille))
      adapter.counters.push_back(counter);
  } else if (word == "instance") {
    EngineCounter counter;
    if (adapter.instances.size() < kMost && take(line, counter.running)) {
      counter.instance = rest(line);
      adapter.instances.push_back(counter);
    }
  } else if (word == "array") {
    ScriptArray array;
    if (take(line, array.bytes, array.items)) adapter.array = array;
  } else if (word == "fail") {
    std::string query;
    if (take(line, query, std::hex, number) && query_of(query))
      adapter.fails[*query_of(query)] = static_cast<NtStatus>(number);
  } else if (word == "empty") {
    std::string query;
    if (take(line, query) && query_of(query)) adapter.empty.push_back(*query_of(query));
  }
}

}  // namespace

NtStatus ScriptAdapter::status(AdapterQuery query, std::size_t number, std::size_t of) const {
  if (const auto at = fails.find(query); at != fails.end()) return at->second;
  if (query == AdapterQuery::sensors && !sensors) return NtStatus::not_supported;
  return number < of || !fills(query) ? NtStatus::success : NtStatus::invalid_parameter;
}

bool ScriptAdapter::fills(AdapterQuery query) const {
  return std::find(empty.begin(), empty.end(), query) == empty.end();
}

AdapterCounts ScriptAdapter::told_counts() const {
  return counts.value_or(
      AdapterCounts{static_cast<std::uint32_t>(nodes.size()), static_cast<std::uint32_t>(segments.size())});
}

std::int64_t ScriptAdapter::running(std::size_t node, std::uint64_t milliseconds) const {
  const ScriptNode& told = nodes[node];
  return told.running.value_or(static_cast<std::int64_t>(milliseconds * told.permille * 10));
}

std::int64_t ScriptAdapter::running(std::string_view process, std::size_t node, std::uint64_t milliseconds) const {
  std::uint64_t sum = 0;
  for (const ScriptUse& use : uses)
    if (use.process == process && use.node == node) sum += milliseconds * use.permille * 10;
  return static_cast<std::int64_t>(sum);
}

std::uint64_t ScriptAdapter::committed(std::string_view process, std::size_t segment) const {
  std::uint64_t sum = 0;
  for (const ScriptUse& use : uses)
    if (use.process == process && use.segment == segment) sum += use.bytes;
  return sum;
}

std::vector<EngineCounter> ScriptAdapter::engine_counters(std::uint64_t milliseconds) const {
  std::vector<EngineCounter> all = instances;
  for (const ScriptCounter& counter : counters) {
    std::array<char, 128> name;
    std::snprintf(name.data(), name.size(), "pid_%u_luid_0x%08X_0x%08X_phys_0_eng_%u_engtype_3D", counter.pid,
                  static_cast<unsigned>(facts.luid >> 32), static_cast<unsigned>(facts.luid), counter.node);
    all.push_back({name.data(), static_cast<std::int64_t>(milliseconds * counter.permille * 10)});
  }
  return all;
}

std::vector<ScriptAdapter> read_adapter_script(std::string_view text) {
  std::vector<ScriptAdapter> adapters;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::istringstream words(line.substr(0, line.find('#')));
    read_line(words, adapters);
  }
  return adapters;
}

}  // namespace igpu::test
