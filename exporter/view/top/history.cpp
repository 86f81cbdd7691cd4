// SPDX-License-Identifier: Apache-2.0
#include "view/top/history.h"

#include <algorithm>

#include "view/top/view_state.h"

namespace igpu::exporter::top {

std::string History::key(const GpuModel& gpu, const snapshot::Engine& engine) {
  return gpu.gpu.address + '\0' + (engine.gt ? std::to_string(*engine.gt) : "") + '\0' + engine.name;
}

void History::add(std::size_t host, const HostFrame& frame) {
  auto& engines = hosts_[host];
  for (auto& [name, kept] : engines) kept.added = false;
  const auto add_ratios = [&](const std::string& address, const ClassRatios& ratios) {
    Classes& readings = classes_[{host, address}];
    readings.push_back({frame.time, ratios});
    while (readings.size() > kKeptOfClasses || readings.front().at < frame.time - kLongestSpan) readings.pop_front();
  };
  for (const GpuModel& gpu : frame.gpus) add_ratios(gpu.gpu.address, class_ratios(gpu));
  for (const snapshot::Npu& npu : frame.npus) {
    ClassRatios ratios;
    ratios[static_cast<std::size_t>(EngineClass::compute)] = value_of(npu.busy);
    add_ratios(npu.address, ratios);
  }
  std::erase_if(classes_, [&](const auto& gpu) {  // gone for longer
    return gpu.first.first == host && gpu.second.back().at < frame.time - kLongestSpan;
  });
  const auto add_value = [](Kept& kept, std::optional<double> value) {
    kept.values.push_back(value);
    if (kept.values.size() > kKept) kept.values.pop_front();
    kept.added = true;
  };
  for (const GpuModel& gpu : frame.gpus)
    for (const snapshot::Engine& engine : rows_of(gpu.engines))
      if (is_measured(engine)) add_value(engines[key(gpu, engine)], value_of(engine.busy));
  // An engine that is gone for longer than is kept is forgotten.
  for (auto it = engines.begin(); it != engines.end();) {
    Kept& kept = it->second;
    if (!kept.added) add_value(kept, std::nullopt);
    const bool known = std::ranges::any_of(kept.values, [](const auto& v) { return v.has_value(); });
    it = known ? std::next(it) : engines.erase(it);
  }
}

const History::Values& History::of(std::size_t host, const GpuModel& gpu, const snapshot::Engine& engine) const {
  static const Values none;
  const auto engines = hosts_.find(host);
  if (engines == hosts_.end()) return none;
  const auto found = engines->second.find(key(gpu, engine));
  return found == engines->second.end() ? none : found->second.values;
}

const History::Classes& History::classes_of(std::size_t host, const std::string& address) const {
  static const Classes none;
  const auto found = classes_.find({host, address});
  return found == classes_.end() ? none : found->second;
}

}  // namespace igpu::exporter::top
