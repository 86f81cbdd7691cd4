// SPDX-License-Identifier: Apache-2.0
#include "top/frame_builder.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "text/unicode.h"

namespace igpu::exporter::top {
namespace {

// Beyond what any machine has: a page that lies must not fill the memory.
constexpr std::size_t kMaxGpus = 128;
constexpr std::size_t kMaxRowsPerGpu = 128;  // engines, sensors, regions
constexpr std::size_t kMaxProcesses = 20'000;
constexpr std::size_t kMaxTextBytes = 256;

std::string text(std::string_view label) { return clean_text(label, kMaxTextBytes); }

bool usable(double value) { return std::isfinite(value); }
double ratio(double value) { return std::clamp(value, 0.0, 1.0); }

// The row that `is_it` accepts, or a new one; null if there are too many.
template <class Row, class IsIt, class Make>
Row* find_or_add(std::vector<Row>& rows, const IsIt& is_it, const Make& make, std::size_t most = kMaxRowsPerGpu) {
  const auto found = std::find_if(rows.begin(), rows.end(), is_it);
  if (found != rows.end()) return &*found;
  if (rows.size() >= most) return nullptr;
  return &rows.emplace_back(make());
}

void set_named(std::vector<NamedValue>& rows, std::string_view name, double value) {
  const std::string clean = text(name);
  const auto is_it = [&](const NamedValue& row) { return row.name == clean; };
  if (NamedValue* row = find_or_add(rows, is_it, [&] { return NamedValue{clean, 0}; })) row->value = value;
}

void add_to(std::optional<double>& sum, double value) { sum = sum.value_or(0) + value; }

std::optional<std::size_t> class_index(std::string_view name) {
  const auto found = std::find(kEngineClasses.begin(), kEngineClasses.end(), name);
  if (found == kEngineClasses.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kEngineClasses.begin());
}

void set_class(ClassRatios& classes, const TextSample& sample) {
  if (const auto index = class_index(sample.label("class"))) classes[*index] = ratio(sample.value);
}

// System memory that a client uses counts as GPU memory as well; on a card both are used.
bool is_resident(const TextSample& sample) { return sample.label("state") == "resident"; }

}  // namespace

const std::unordered_map<std::string_view, FrameBuilder::Handler>& FrameBuilder::handlers() {
  static const std::unordered_map<std::string_view, Handler> map{
      {"intel_gpu_info", &FrameBuilder::info},
      {"intel_gpu_runtime_suspended", &FrameBuilder::suspended},
      {"intel_gpu_error_state", &FrameBuilder::hung},
      {"intel_gpu_engine_busy_ratio", &FrameBuilder::engine_busy},
      {"intel_gpu_engine_wait_ratio", &FrameBuilder::engine_wait},
      {"intel_gpu_engine_sema_ratio", &FrameBuilder::engine_sema},
      {"intel_gpu_frequency_hertz", &FrameBuilder::frequency},
      {"intel_gpu_frequency_limit_hertz", &FrameBuilder::frequency_limit},
      {"intel_gpu_throttled", &FrameBuilder::throttled},
      {"intel_gpu_rc6_residency_ratio", &FrameBuilder::rc6},
      {"intel_gpu_power_watts", &FrameBuilder::power_watts},
      {"intel_gpu_power_limit_watts", &FrameBuilder::power_limit},
      {"intel_gpu_temperature_celsius", &FrameBuilder::temperature},
      {"intel_gpu_fan_speed_rpm", &FrameBuilder::fan},
      {"intel_gpu_voltage_volts", &FrameBuilder::voltage},
      {"intel_gpu_memory_size_bytes", &FrameBuilder::memory_size},
      {"intel_gpu_memory_used_bytes", &FrameBuilder::memory_used},
      {"intel_gpu_memory_bandwidth_bytes_total", &FrameBuilder::bandwidth},
      {"intel_gpu_pcie_link_speed_transfers_per_second", &FrameBuilder::link_speed},
      {"intel_gpu_pcie_link_width_lanes", &FrameBuilder::link_width},
      {"intel_gpu_exporter_feature_available", &FrameBuilder::feature},
      {"intel_gpu_scrape_collector_success", &FrameBuilder::collector_success},
      {"intel_gpu_processes", &FrameBuilder::processes},
      {"intel_gpu_processes_dropped", &FrameBuilder::processes_dropped},
      {"intel_gpu_process_engine_busy_ratio", &FrameBuilder::process_busy},
      {"intel_gpu_process_memory_bytes", &FrameBuilder::process_memory},
      {"intel_gpu_process_resident_memory_bytes", &FrameBuilder::process_resident},
      {"intel_gpu_process_cpu_seconds_total", &FrameBuilder::process_cpu},
      {"intel_gpu_process_clients", &FrameBuilder::process_clients},
      {"intel_gpu_process_info", &FrameBuilder::process_info},
      {"intel_gpu_workload_engine_busy_ratio", &FrameBuilder::workload_busy},
      {"intel_gpu_workload_memory_bytes", &FrameBuilder::workload_memory},
      {"intel_gpu_workload_clients", &FrameBuilder::workload_clients},
      {"intel_gpu_workload_processes", &FrameBuilder::workload_processes},
      {"intel_gpu_workload_resident_memory_bytes", &FrameBuilder::workload_resident},
      {"intel_gpu_workload_cpu_seconds_total", &FrameBuilder::workload_cpu},
      {"intel_gpu_workload_info", &FrameBuilder::workload_info},
  };
  return map;
}

void FrameBuilder::add(const TextSample& sample) {
  if (!usable(sample.value)) return;
  const auto found = handlers().find(sample.metric);
  if (found != handlers().end()) (this->*found->second)(sample);
}

std::size_t FrameBuilder::gpu_index(std::string_view device) {
  const auto& gpus = host_.gpus;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].device == device) return i;
  }
  return gpus.size();
}

GpuFrame* FrameBuilder::gpu(const TextSample& sample) {
  const std::string device = text(sample.label("device"));
  if (device.empty()) return nullptr;
  const std::size_t index = gpu_index(device);
  if (index < host_.gpus.size()) return &host_.gpus[index];
  if (index >= kMaxGpus) {
    ++host_.rows_left_out;
    return nullptr;
  }
  GpuFrame& added = host_.gpus.emplace_back();
  added.device = device;
  return &added;
}

EngineRow* FrameBuilder::engine(const TextSample& sample) {
  GpuFrame* const of = gpu(sample);
  if (of == nullptr) return nullptr;
  const std::string gt = text(sample.label("gt")), name = text(sample.label("engine"));
  const auto is_it = [&](const EngineRow& row) { return row.gt == gt && row.name == name; };
  return find_or_add(of->engines, is_it, [&] { return EngineRow{gt, name, text(sample.label("class"))}; });
}

GtRow* FrameBuilder::gt(const TextSample& sample) {
  GpuFrame* const of = gpu(sample);
  if (of == nullptr) return nullptr;
  const std::string name = text(sample.label("gt"));
  return find_or_add(
      of->gts, [&](const GtRow& row) { return row.gt == name; }, [&] { return GtRow{name}; });
}

MemoryRow* FrameBuilder::memory(const TextSample& sample) {
  GpuFrame* const of = gpu(sample);
  if (of == nullptr) return nullptr;
  const std::string region = text(sample.label("memory_region"));
  return find_or_add(
      of->memory, [&](const MemoryRow& row) { return row.region == region; }, [&] { return MemoryRow{region}; });
}

PowerRow* FrameBuilder::power(const TextSample& sample) {
  GpuFrame* const of = gpu(sample);
  if (of == nullptr) return nullptr;
  const std::string domain = text(sample.label("domain"));
  return find_or_add(
      of->power, [&](const PowerRow& row) { return row.domain == domain; }, [&] { return PowerRow{domain}; });
}

void FrameBuilder::info(const TextSample& sample) {
  GpuFrame* const of = gpu(sample);
  if (of == nullptr) return;
  of->card = text(sample.label("card"));
  of->driver = text(sample.label("driver"));
  of->name = text(sample.label("name"));
  of->kind = text(sample.label("kind"));
}

void FrameBuilder::suspended(const TextSample& sample) {
  if (GpuFrame* of = gpu(sample)) of->suspended = sample.value != 0;
}

void FrameBuilder::hung(const TextSample& sample) {
  if (GpuFrame* of = gpu(sample)) of->hung = sample.value != 0;
}

void FrameBuilder::engine_busy(const TextSample& sample) {
  if (EngineRow* row = engine(sample)) {
    row->busy = ratio(sample.value);
    row->from_clients = sample.label("source") == "fdinfo";
  }
}

void FrameBuilder::engine_wait(const TextSample& sample) {
  if (EngineRow* row = engine(sample)) row->wait = ratio(sample.value);
}

void FrameBuilder::engine_sema(const TextSample& sample) {
  if (EngineRow* row = engine(sample)) row->sema = ratio(sample.value);
}

void FrameBuilder::frequency(const TextSample& sample) {
  GtRow* const row = gt(sample);
  if (row == nullptr) return;
  const std::string_view kind = sample.label("kind");
  if (kind == "actual") row->actual_hertz = sample.value;
  if (kind == "requested") row->requested_hertz = sample.value;
}

void FrameBuilder::frequency_limit(const TextSample& sample) {
  GtRow* const row = gt(sample);
  if (row == nullptr) return;
  const std::string_view limit = sample.label("limit");
  if (limit == "min") row->min_hertz = sample.value;
  if (limit == "max") row->max_hertz = sample.value;
  if (limit == "rp0") row->highest_hertz = sample.value;
}

void FrameBuilder::throttled(const TextSample& sample) {
  GtRow* const row = gt(sample);
  if (row == nullptr || sample.value == 0) return;
  const std::string reason = text(sample.label("reason"));
  (void)find_or_add(
      row->throttle_reasons, [&](const std::string& known) { return known == reason; }, [&] { return reason; });
}

void FrameBuilder::rc6(const TextSample& sample) {
  if (GtRow* row = gt(sample)) row->rc6 = ratio(sample.value);
}

void FrameBuilder::power_watts(const TextSample& sample) {
  if (PowerRow* row = power(sample)) row->watts = sample.value;
}

void FrameBuilder::power_limit(const TextSample& sample) {
  if (sample.label("limit") != "max") return;
  if (PowerRow* row = power(sample)) row->limit_watts = sample.value;
}

void FrameBuilder::temperature(const TextSample& sample) {
  if (GpuFrame* of = gpu(sample)) set_named(of->temperatures, sample.label("sensor"), sample.value);
}

void FrameBuilder::fan(const TextSample& sample) {
  if (GpuFrame* of = gpu(sample)) set_named(of->fans, sample.label("fan"), sample.value);
}

void FrameBuilder::voltage(const TextSample& sample) {
  if (GpuFrame* of = gpu(sample)) set_named(of->voltages, sample.label("domain"), sample.value);
}

void FrameBuilder::memory_size(const TextSample& sample) {
  if (MemoryRow* row = memory(sample)) row->size = sample.value;
}

void FrameBuilder::memory_used(const TextSample& sample) {
  if (MemoryRow* row = memory(sample)) row->used = sample.value;
}

void FrameBuilder::bandwidth(const TextSample& sample) {
  GpuFrame* const of = gpu(sample);
  if (of == nullptr) return;
  const std::string direction = text(sample.label("direction"));
  const auto is_it = [&](const CountedBytes& row) { return row.direction == direction; };
  if (CountedBytes* row = find_or_add(of->bandwidth, is_it, [&] { return CountedBytes{direction}; }))
    row->total = sample.value;
}

void FrameBuilder::link_speed(const TextSample& sample) {
  if (GpuFrame* of = gpu(sample)) (sample.label("bound") == "max" ? of->link.max_speed : of->link.speed) = sample.value;
}

void FrameBuilder::link_width(const TextSample& sample) {
  if (GpuFrame* of = gpu(sample)) (sample.label("bound") == "max" ? of->link.max_width : of->link.width) = sample.value;
}

void FrameBuilder::feature(const TextSample& sample) {
  if (sample.value != 0) return;
  if (sample.label("device").empty()) {  // of the whole machine
    if (sample.label("feature") == "processes") host_.processes_missing = text(sample.label("reason"));
    return;
  }
  GpuFrame* const of = gpu(sample);
  if (of == nullptr) return;
  const std::string name = text(sample.label("feature"));
  if (MissingFeature* row = find_or_add(
          of->missing, [&](const MissingFeature& m) { return m.feature == name; },
          [&] { return MissingFeature{name}; })) {
    row->reason = text(sample.label("reason"));
  }
}

void FrameBuilder::collector_success(const TextSample& sample) {
  if (sample.value != 0 || host_.failed_collectors.size() >= kMaxRowsPerGpu) return;
  host_.failed_collectors.push_back(text(sample.label("collector")));
}

void FrameBuilder::processes(const TextSample& sample) {
  if (GpuFrame* of = gpu(sample)) of->processes = sample.value;
}

void FrameBuilder::processes_dropped(const TextSample& sample) {
  if (GpuFrame* of = gpu(sample)) of->processes_dropped = sample.value;
}

ProcessRow* FrameBuilder::process(const TextSample& sample) {
  const GpuFrame* const of = gpu(sample);
  if (of == nullptr) return nullptr;
  const auto index = static_cast<std::size_t>(of - host_.gpus.data());
  std::string key = std::to_string(index);
  key.append(1, '\0').append(sample.label("pid")).append(1, '\0').append(sample.label("comm"));
  const auto [found, added] = process_index_.try_emplace(std::move(key), host_.processes.size());
  if (!added) return &host_.processes[found->second];
  if (host_.processes.size() >= kMaxProcesses) {
    process_index_.erase(found);
    ++host_.rows_left_out;
    return nullptr;
  }
  ProcessRow& row = host_.processes.emplace_back();
  row.gpu = index;
  row.pid = text(sample.label("pid"));
  row.comm = text(sample.label("comm"));
  return &row;
}

void FrameBuilder::process_busy(const TextSample& sample) {
  if (ProcessRow* row = process(sample)) set_class(row->classes, sample);
}

void FrameBuilder::process_memory(const TextSample& sample) {
  if (!is_resident(sample)) return;
  if (ProcessRow* row = process(sample)) add_to(row->memory_bytes, sample.value);
}

void FrameBuilder::process_resident(const TextSample& sample) {
  if (ProcessRow* row = process(sample)) row->resident_bytes = sample.value;
}

void FrameBuilder::process_cpu(const TextSample& sample) {
  if (ProcessRow* row = process(sample)) row->cpu_seconds = sample.value;
}

void FrameBuilder::process_clients(const TextSample& sample) {
  if (ProcessRow* row = process(sample)) row->clients = sample.value;
}

void FrameBuilder::process_info(const TextSample& sample) {
  ProcessRow* const row = process(sample);
  if (row == nullptr) return;
  row->user = text(sample.label("user"));
  row->cgroup = text(sample.label("cgroup"));
  row->container = text(sample.label("container_id"));
  row->unit = text(sample.label("systemd_unit"));
}

WorkloadRow* FrameBuilder::workload(const TextSample& sample, bool of_gpu) {
  host_.has_workloads = true;
  const GpuFrame* const of = of_gpu ? gpu(sample) : nullptr;
  if (of == nullptr) return nullptr;
  const auto index = static_cast<std::size_t>(of - host_.gpus.data());
  std::string key = std::to_string(index);
  key.append(1, '\0').append(sample.label("workload"));
  const auto [found, added] = workload_index_.try_emplace(std::move(key), host_.workloads.size());
  if (!added) return &host_.workloads[found->second];
  if (host_.workloads.size() >= kMaxProcesses) {
    workload_index_.erase(found);
    ++host_.rows_left_out;
    return nullptr;
  }
  WorkloadRow& row = host_.workloads.emplace_back();
  row.gpu = index;
  row.name = text(sample.label("workload"));
  return &row;
}

void FrameBuilder::workload_busy(const TextSample& sample) {
  if (WorkloadRow* row = workload(sample, true)) set_class(row->classes, sample);
}

void FrameBuilder::workload_memory(const TextSample& sample) {
  if (!is_resident(sample)) return;
  if (WorkloadRow* row = workload(sample, true)) add_to(row->memory_bytes, sample.value);
}

void FrameBuilder::workload_clients(const TextSample& sample) {
  if (WorkloadRow* row = workload(sample, true)) row->clients = sample.value;
}

void FrameBuilder::workload_processes(const TextSample& sample) {
  host_.has_workloads = true;
  if (whole_workloads_.size() < kMaxProcesses)
    whole_workloads_[text(sample.label("workload"))].processes = sample.value;
}

void FrameBuilder::workload_resident(const TextSample& sample) {
  if (whole_workloads_.size() < kMaxProcesses)
    whole_workloads_[text(sample.label("workload"))].resident_bytes = sample.value;
}

void FrameBuilder::workload_cpu(const TextSample& sample) {
  if (whole_workloads_.size() < kMaxProcesses)
    add_to(whole_workloads_[text(sample.label("workload"))].cpu_seconds, sample.value);
}

void FrameBuilder::workload_info(const TextSample& sample) {
  host_.has_workloads = true;
  if (whole_workloads_.size() < kMaxProcesses)
    whole_workloads_[text(sample.label("workload"))].kind = text(sample.label("kind"));
}

HostFrame FrameBuilder::finish() {
  for (WorkloadRow& row : host_.workloads) {
    const auto found = whole_workloads_.find(row.name);
    if (found == whole_workloads_.end()) continue;
    row.kind = found->second.kind;
    row.resident_bytes = found->second.resident_bytes;
    row.processes = found->second.processes;
    row.cpu_seconds = found->second.cpu_seconds;
  }
  for (GpuFrame& of : host_.gpus) {
    for (GtRow& row : of.gts) {  // "any" alone: the driver gives no reason
      auto& reasons = row.throttle_reasons;
      if (reasons.size() > 1) std::erase(reasons, "any");
    }
    std::sort(of.gts.begin(), of.gts.end(), [](const GtRow& a, const GtRow& b) { return a.gt < b.gt; });
  }
  host_.state = HostState::ok;
  return std::move(host_);
}

HostFrame frame_of(const PageView& page) {
  FrameBuilder builder;
  std::array<LabelPair, kMaxLabels> labels;
  for (const PageView::Family& family : page.families()) {
    for (const PageView::Entry& entry : family.entries) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < family.metric->label_count; ++i) {
        const std::string_view value = entry.list->label_value(*entry.sample, i);
        if (!value.empty()) labels[count++] = {family.metric->label_names[i], value};
      }
      builder.add({family.metric->name, {labels.data(), count}, entry.sample->value});
    }
  }
  return builder.finish();
}

HostFrame frame_of(std::string_view exposition) {
  FrameBuilder builder;
  bool ours = false;
  const ParsedExposition parsed = parse_exposition(exposition, [&](const TextSample& sample) {
    ours = ours || sample.metric.starts_with("intel_gpu_exporter_");
    builder.add(sample);
  });
  if (!ours) {
    throw std::runtime_error(parsed.samples > 0 ? "its metrics are not those of an intel-gpu-exporter"
                                                : "its page holds no metrics");
  }
  return builder.finish();
}

void add_rates(HostFrame& now, const HostFrame& before) {
  const double seconds = std::chrono::duration<double>(now.time - before.time).count();
  if (before.state != HostState::ok || seconds <= 0) return;
  // No rate where a counter began again.
  const auto rate = [seconds](std::optional<double> later, std::optional<double> earlier) -> std::optional<double> {
    if (!later || !earlier || *later < *earlier) return std::nullopt;
    return (*later - *earlier) / seconds;
  };
  std::unordered_map<std::string, double> cpu_seconds;
  const auto key = [](const HostFrame& host, std::size_t gpu, const std::string& a, const std::string& b) {
    return host.gpus[gpu].device + '\0' + a + '\0' + b;
  };
  for (const ProcessRow& row : before.processes) {
    if (row.cpu_seconds) cpu_seconds[key(before, row.gpu, row.pid, row.comm)] = *row.cpu_seconds;
  }
  const auto earlier = [&](const std::string& of) -> std::optional<double> {
    const auto found = cpu_seconds.find(of);
    if (found == cpu_seconds.end()) return std::nullopt;
    return found->second;
  };
  for (ProcessRow& row : now.processes)
    row.cpu_ratio = rate(row.cpu_seconds, earlier(key(now, row.gpu, row.pid, row.comm)));
  cpu_seconds.clear();
  for (const WorkloadRow& row : before.workloads) {
    if (row.cpu_seconds) cpu_seconds[key(before, row.gpu, row.name, "")] = *row.cpu_seconds;
  }
  for (WorkloadRow& row : now.workloads)
    row.cpu_ratio = rate(row.cpu_seconds, earlier(key(now, row.gpu, row.name, "")));
  for (GpuFrame& gpu : now.gpus) {
    const auto old = std::find_if(before.gpus.begin(), before.gpus.end(),
                                  [&](const GpuFrame& other) { return other.device == gpu.device; });
    if (old == before.gpus.end()) continue;
    for (CountedBytes& bytes : gpu.bandwidth) {
      for (const CountedBytes& other : old->bandwidth) {
        if (other.direction == bytes.direction) bytes.per_second = rate(bytes.total, other.total);
      }
    }
  }
}

}  // namespace igpu::exporter::top
