// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/held_counter.h"
#include "base/scan.h"
#include "collector/collector.h"
#include "kernel/sysfs/host_stat.h"

namespace igpu {
namespace {

constexpr CounterMetric<Seconds, 2> kHostCpu{
    "intel_gpu_host_cpu_seconds_total",
    "Time of the processor by mode: user, nice, system, idle, iowait, irq, softirq, steal.",
    {"cpu", "mode"}};
constexpr GaugeMetric<Count, 0> kHostProcesses{"intel_gpu_host_processes",
                                               "Processes of the machine, or of the PID namespace of this one."};
constexpr std::array<std::string_view, 1> kHostProcFiles{"stat"};

constexpr double kHostTicksPerSecond = 100;       // USER_HZ
constexpr std::uint64_t kHeldTicks = 300;         // a larger step back is that of a processor that was taken offline
constexpr std::size_t kLargestStat = 256U << 10;  // the processors' lines come first; those of interrupts may follow

// CPU time by processor and the number of processes of the machine; a node exporter reports more.
class HostCollector final : public MachineCollector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "host",
      .help = "CPU time by processor, and processes, of the whole machine.",
      .enabled_by_default = false,
      .for_commands = true,
      .proc_files = kHostProcFiles,
      .metrics = kListOf<MetricDescriptor, kHostCpu, kHostProcesses>,
      .features = {},
      .notes =
          "Cores in use: `sum(rate(intel_gpu_host_cpu_seconds_total{mode!~\"idle|iowait\"}[1m]))`. The command stats "
          "turns this collector on.",
  };

  explicit HostCollector(const MachineContext& context) : machine_(context.machine) {}

  void collect(MachinePass&, SampleSink& out) override {
    read_processors(out);
    count_processes(out);
  }

 private:
  void read_processors(SampleSink& out) {
    buffer_.resize(kLargestStat);
    const auto text = machine_.proc.read_start("stat", buffer_);
    if (text.is_failure()) out.failed(text.failure());
    if (!text) return;
    const auto processors = parse_host_stat(*text);
    if (!processors) {
      out.failed({std::make_error_code(std::errc::protocol_error), "proc/stat"});
      return;
    }
    for (const CpuTimes& times : *processors) {
      auto& known = processors_[times.cpu];
      const std::string cpu = std::to_string(times.cpu);
      for (std::size_t i = 0; i < kCpuModes; ++i) {
        known[i].ticks += known[i].counter.advance(times.ticks[i], kHeldTicks).gained;
        out.add(kHostCpu, {cpu, kCpuModeNames[i]}, Seconds{static_cast<double>(known[i].ticks) / kHostTicksPerSecond});
      }
    }
  }

  void count_processes(SampleSink& out) const {
    std::size_t count = 0;
    const auto listed = machine_.proc.for_each(".", [&count](std::string_view name) {
      if (scan_integer<std::uint32_t>(name)) ++count;
      return true;
    });
    if (listed.is_failure()) out.failed(listed.failure());
    if (listed) out.add(kHostProcesses, count_of(count));
  }

  Machine& machine_;
  struct Time {
    HeldCounter counter;  // idle and iowait sometimes step back
    std::uint64_t ticks = 0;
  };
  std::map<std::uint32_t, std::array<Time, kCpuModes>> processors_;
  std::vector<char> buffer_;
};

}  // namespace

CollectorEntry host_collector() { return entry<HostCollector>(); }

}  // namespace igpu
