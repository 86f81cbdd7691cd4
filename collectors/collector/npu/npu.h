// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/counter_window.h"
#include "base/monotonic_counter.h"
#include "collector/collector.h"
#include "collector/health/health_facts.h"
#include "kernel/clients/clients.h"
#include "kernel/device/npus.h"
#include "kernel/npu/npu_files.h"

namespace igpu {

// The NPUs of the machine's processor. They are no GPUs, so they have metrics of their own.
class NpuCollector final : public MachineCollector {
 public:
  static const CollectorInfo kInfo;
  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  // most_processes: the limit of processes of an NPU with series of their own; nullopt: no series by process.
  NpuCollector(Machine& machine, Nanoseconds min_window, std::optional<std::size_t> most_processes);

  void collect(MachinePass& pass, SampleSink& out) override;

 private:
  // Counts outlive a rebinding.
  struct Device {
    explicit Device(Nanoseconds min_window) : window(min_window), power(min_window) {}
    std::uint64_t binding = 0;
    std::unique_ptr<NpuFiles> files;
    MonotonicCounter busy;    // microseconds
    CounterWindow<1> window;  // of the kernel's own count
    std::uint64_t recoveries = 0;
    MonotonicCounter energy;  // in NpuTelemetry::kEnergyUnit
    CounterWindow<1> power;   // window of `energy`
  };
  struct Reports;

  Device& device_of(const NpuDevice& npu);
  void count_recoveries(MachinePass& pass);
  bool counts_recoveries() const { return fault_channels_.has_events || fault_channels_.has_dumps; }
  void write_processes(MachinePass& pass, SampleSink& out);
  void report_processes(const ClientSnapshot& snapshot, bool any, SampleSink& out);
  void write_telemetry(MachinePass& pass, SampleSink& out);
  static void write_busy(const NpuDevice& npu, Device& device, Nanoseconds now, Reports& reports, SampleSink& out);
  static void write_frequency(const NpuDevice& npu, Device& device, Reports& reports, SampleSink& out);
  void write(const NpuDevice& npu, Device& device, Nanoseconds now, Reports& reports, SampleSink& out) const;

  Machine& machine_;
  const Nanoseconds min_window_;
  const std::optional<std::size_t> most_processes_;
  std::optional<bool> shows_memory_;  // whether the driver reports memory by process; known from the first client on
  NpuTelemetry telemetry_;
  std::vector<NpuDevice> npus_;
  FaultChannels fault_channels_;                        // as the collector health reported them last
  std::map<std::string, Device, std::less<>> devices_;  // by PCI address
};

}  // namespace igpu
