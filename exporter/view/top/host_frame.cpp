// SPDX-License-Identifier: Apache-2.0
#include "view/top/host_frame.h"

#include <algorithm>
#include <stdexcept>

#include "text/text.h"
#include "view/client/http_fetcher.h"

namespace igpu::exporter::top {
namespace {

std::string clean(std::string_view text) {
  constexpr std::size_t kMaxTextBytes = 256;
  return clean_text(text, kMaxTextBytes);
}

HostFrame frame_of_model(HostModel&& model) {
  HostFrame host;
  static_cast<HostModel&>(host) = std::move(model);
  host.state = HostState::ok;
  return host;
}

template <class Use>
void each_cpu_time(const HostModel& host, const Use& use) {
  for (const GpuModel& gpu : host.gpus)
    for (const snapshot::Process& process : rows_of(gpu.processes))
      if (process.cpu_time) use(cpu_key(process), process.cpu_time->value);
  for (const snapshot::Workload& workload : host.workloads)
    if (workload.cpu_time) use(cpu_key(workload), workload.cpu_time->value);
}

}  // namespace

ClassRatios class_ratios(const GpuModel& gpu) {
  ClassRatios ratios;
  for (const snapshot::EngineClassLoad& load : rows_of(gpu.engine_classes))
    ratios[static_cast<std::size_t>(load.engine_class)] = value_of(load.busy);
  return ratios;
}

HostFrame frame_of(const PageView& page) { return frame_of_model(model_of(page, clean)); }

HostFrame frame_of(std::string_view exposition) {
  ModelReader reader(clean);
  bool ours = false;
  const ParsedExposition parsed = parse_exposition(exposition, [&](const TextSample& sample) {
    ours = ours || sample.metric.starts_with("intel_gpu_exporter_");
    reader.add(sample.metric, sample.labels, sample.value);
  });
  if (!ours) {
    throw std::runtime_error(parsed.samples > 0 ? "its metrics are not those of an intel-gpu-exporter"
                                                : "its page holds no metrics");
  }
  return frame_of_model(reader.finish());
}

void add_rates(HostFrame& now, const HostFrame& before) {
  const double seconds = std::chrono::duration<double>(now.time - before.time).count();
  if (before.state != HostState::ok || seconds <= 0) return;
  std::unordered_map<std::string, double> earlier;
  each_cpu_time(before, [&](std::string key, double time) { earlier[std::move(key)] = time; });
  // No rate where a counter began again.
  each_cpu_time(now, [&](std::string key, double time) {
    const auto old = earlier.find(key);
    if (old != earlier.end() && time >= old->second) now.cpu[std::move(key)] = (time - old->second) / seconds;
  });
  for (GpuModel& gpu : now.gpus) {
    const GpuModel* const old = before.gpu(gpu.gpu.address);
    if (old == nullptr || !gpu.memory_bandwidth) continue;
    for (snapshot::Bandwidth& row : *gpu.memory_bandwidth)
      for (const snapshot::Bandwidth& other : rows_of(old->memory_bandwidth))
        if (other.direction == row.direction && row.total >= other.total)
          row.rate = BytesPerSecond{(row.total.value - other.total.value) / seconds};
  }
}

std::string cpu_key(const snapshot::Process& process) { return std::to_string(process.pid) + '\n' + process.comm; }
std::string cpu_key(const snapshot::Workload& workload) { return '\n' + workload.name; }

std::optional<double> cpu_of(const HostFrame& host, const std::string& key) {
  const auto found = host.cpu.find(key);
  return found == host.cpu.end() ? std::nullopt : std::optional(found->second);
}

std::size_t count_clients(const HostFrame& host, bool workloads) {
  std::size_t count = 0;
  for (const GpuModel& gpu : host.gpus) count += workloads ? gpu.workloads.size() : rows_of(gpu.processes).size();
  return count;
}

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
