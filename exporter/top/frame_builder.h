// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "client/exposition.h"
#include "igpu/page.h"
#include "top/frame.h"

namespace igpu::exporter::top {

// Makes a frame of one host from the samples of one page, whether it was scraped here or parsed from another exporter's
// text: so both show the same. Samples may come in any order and from a page that lies.
class FrameBuilder {
 public:
  void add(const TextSample& sample);
  HostFrame finish();

 private:
  struct Row;
  using Handler = void (FrameBuilder::*)(const TextSample&);
  struct Rule;
  static const std::unordered_map<std::string_view, Handler>& handlers();

  GpuFrame* gpu(const TextSample& sample);
  std::size_t gpu_index(std::string_view device);
  EngineRow* engine(const TextSample& sample);
  GtRow* gt(const TextSample& sample);
  MemoryRow* memory(const TextSample& sample);
  PowerRow* power(const TextSample& sample);
  ProcessRow* process(const TextSample& sample);
  WorkloadRow* workload(const TextSample& sample, bool of_gpu);

  void info(const TextSample& sample);
  void suspended(const TextSample& sample);
  void hung(const TextSample& sample);
  void engine_busy(const TextSample& sample);
  void engine_wait(const TextSample& sample);
  void engine_sema(const TextSample& sample);
  void frequency(const TextSample& sample);
  void frequency_limit(const TextSample& sample);
  void throttled(const TextSample& sample);
  void rc6(const TextSample& sample);
  void power_watts(const TextSample& sample);
  void power_limit(const TextSample& sample);
  void temperature(const TextSample& sample);
  void fan(const TextSample& sample);
  void voltage(const TextSample& sample);
  void memory_size(const TextSample& sample);
  void memory_used(const TextSample& sample);
  void bandwidth(const TextSample& sample);
  void link_speed(const TextSample& sample);
  void link_width(const TextSample& sample);
  void feature(const TextSample& sample);
  void collector_success(const TextSample& sample);
  void processes(const TextSample& sample);
  void processes_dropped(const TextSample& sample);
  void process_busy(const TextSample& sample);
  void process_memory(const TextSample& sample);
  void process_resident(const TextSample& sample);
  void process_cpu(const TextSample& sample);
  void process_clients(const TextSample& sample);
  void process_info(const TextSample& sample);
  void workload_busy(const TextSample& sample);
  void workload_memory(const TextSample& sample);
  void workload_clients(const TextSample& sample);
  void workload_processes(const TextSample& sample);
  void workload_resident(const TextSample& sample);
  void workload_cpu(const TextSample& sample);
  void workload_info(const TextSample& sample);

  HostFrame host_;
  std::unordered_map<std::string, std::size_t> process_index_, workload_index_;
  // Of a workload as a whole; its rows are by GPU.
  struct WholeWorkload {
    std::string kind;
    std::optional<double> resident_bytes, processes, cpu_seconds;
  };
  std::map<std::string, WholeWorkload, std::less<>> whole_workloads_;
};

// A page of this process.
HostFrame frame_of(const PageView& page);
// A page of another exporter. Throws std::runtime_error if it holds no sample of an intel-gpu-exporter.
HostFrame frame_of(std::string_view exposition);

// Fills in rates of counters, from the frame before.
void add_rates(HostFrame& now, const HostFrame& before);

}  // namespace igpu::exporter::top
