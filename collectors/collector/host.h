// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "base/held_counter.h"
#include "collector/collector.h"
#include "source/host_stat.h"

namespace igpu {

// CPU time by processor and the number of processes of the machine; a node exporter reports more.
class HostCollector final : public MachineCollector {
 public:
  static constexpr Metric<Seconds, 2> kCpu{
      "intel_gpu_host_cpu_seconds_total",
      Kind::counter,
      "Time of the processor by mode: user, nice, system, idle, iowait, irq, softirq, steal.",
      {"cpu", "mode"}};
  static constexpr Metric<Count, 0> kProcesses{"intel_gpu_host_processes", Kind::gauge,
                                               "Processes of the machine, or of the PID namespace of this one."};

  static constexpr std::array<const MetricDescriptor*, 2> kMetrics{&kCpu, &kProcesses};
  static constexpr std::array<std::string_view, 1> kProcFiles{"stat"};
  static constexpr CollectorInfo kInfo{
      .name = "host",
      .help = "CPU time by processor, and processes, of the whole machine.",
      .enabled_by_default = false,
      .for_commands = true,
      .proc_files = kProcFiles,
      .metrics = kMetrics,
      .features = {},
      .notes =
          "Cores in use: `sum(rate(intel_gpu_host_cpu_seconds_total{mode!~\"idle|iowait\"}[1m]))`. The command "
          "stats turns this collector on.",
  };

  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  explicit HostCollector(Machine& machine) : machine_(machine) {}

  void collect(MachinePass& pass, SampleSink& out) override;

 private:
  void read_processors(SampleSink& out);
  void count_processes(SampleSink& out) const;

  Machine& machine_;
  struct Time {
    HeldCounter counter;  // idle and iowait sometimes step back
    std::uint64_t ticks = 0;
  };
  std::map<std::uint32_t, std::array<Time, kCpuModes>> processors_;
  std::vector<char> buffer_;
};

}  // namespace igpu
