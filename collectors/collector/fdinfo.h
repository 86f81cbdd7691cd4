// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "collector/collector.h"
#include "collector/fdinfo_usage.h"
#include "collector/shared/shared_options.h"

namespace igpu {

// Who uses the GPU: engine time and memory of every process that holds a client of it, as DRM fdinfo reports, and what
// kind of process that is. A client counts once, for the lowest PID that holds it.
class FdinfoCollector final : public Collector {
 public:
  static constexpr Metric<Bytes, 5> kMemory{
      "intel_gpu_process_memory_bytes",
      Kind::gauge,
      "GPU memory of the process by region and state; a shared buffer counts in full for each process that holds it.",
      {"device", "pid", "comm", "memory_region", "state"}};
  static constexpr Metric<Seconds, 4> kBusy{"intel_gpu_process_engine_busy_seconds_total",
                                            Kind::counter,
                                            "Engine time of the process, summed over the engines of the class; on xe "
                                            "without access to the render node, from the second scrape on.",
                                            {"device", "pid", "comm", "class"}};
  static constexpr Metric<Ratio, 4> kBusyRatio{"intel_gpu_process_engine_busy_ratio",
                                               Kind::gauge,
                                               "Share of the class's capacity that the process used over the window.",
                                               {"device", "pid", "comm", "class"}};
  static constexpr Metric<Count, 3> kClients{"intel_gpu_process_clients",
                                             Kind::gauge,
                                             "DRM clients of the GPU that the process holds.",
                                             {"device", "pid", "comm"}};
  static constexpr Metric<Count, 8> kProcessInfo{
      "intel_gpu_process_info",
      Kind::info,
      "User, cgroup and systemd unit of the process; container_id and pod_uid come from its cgroup.",
      {"device", "pid", "comm", "user", "cgroup", "container_id", "pod_uid", "systemd_unit"}};
  static constexpr Metric<Seconds, 3> kCpu{"intel_gpu_process_cpu_seconds_total",
                                           Kind::counter,
                                           "CPU time of the process, user and system.",
                                           {"device", "pid", "comm"}};
  static constexpr Metric<Bytes, 3> kResident{"intel_gpu_process_resident_memory_bytes",
                                              Kind::gauge,
                                              "Resident main memory of the process.",
                                              {"device", "pid", "comm"}};
  static constexpr Metric<Bytes, 3> kVirtual{"intel_gpu_process_virtual_memory_bytes",
                                             Kind::gauge,
                                             "Virtual memory of the process.",
                                             {"device", "pid", "comm"}};
  static constexpr Metric<Count, 1> kProcesses{
      "intel_gpu_processes", Kind::gauge, "Visible processes that hold a client of the GPU.", {"device"}};
  static constexpr Metric<Count, 1> kDropped{
      "intel_gpu_processes_dropped",
      Kind::gauge,
      "Processes without series of their own: those beyond --collector.fdinfo.max-processes that used the GPU least.",
      {"device"}};

  static constexpr FeatureDescriptor kProcessesFeature{
      "processes",
      "GPU use of other users' processes; otherwise only processes of the exporter's own user are visible.",
      Need::other_processes, true};
  // The same feature where it is not a process but a descriptor of it that may not be read.
  static constexpr FeatureDescriptor kProcessesByLink{
      "processes", "Processes that started to use the GPU while another GPU sleeps.", Need::descriptor_links, true};
  // The same feature under Windows.
  static constexpr FeatureDescriptor kProcessesByHandle{"processes", kProcessesFeature.meaning, Need::windows_rights,
                                                        true};
  static constexpr FeatureDescriptor kFinderFeature{
      "client_finder",
      "The kernel reports which processes use a GPU (BPF); otherwise scrapes search /proc, which takes longer the more "
      "processes there are.",
      Need::client_finder,
      true,
      {},
      true};
  static constexpr std::array<KernelAbsence, 3> kNoEngineTime{{
      {Driver::i915,
       {},
       "this kernel's i915 driver leaves engine time out of fdinfo for this GPU",
       "Linux 5.19 or newer; for GPUs with GuC submission (Alder Lake-P, Arc and newer) 6.5; Gen7 and older have none"},
      {Driver::xe, {}, "this kernel's xe driver leaves engine time out of fdinfo", "Linux 6.11 or newer"},
      {Driver::wddm, {}, "Windows does not count the time of processes on this GPU", ""},
  }};
  static constexpr std::array<KernelAbsence, 3> kNoMemory{{
      {Driver::i915, {}, "this kernel's i915 driver leaves memory out of fdinfo", "Linux 6.8 or newer"},
      {Driver::xe, {}, "this kernel's xe driver leaves memory out of fdinfo", "Linux 6.8 or newer"},
      {Driver::wddm, {}, "Windows does not count the memory of processes on this GPU", ""},
  }};
  static constexpr FeatureDescriptor kEngineTimeFeature{"process_engine_time", "Engine time by process.",
                                                        Need::nothing_special, false, kNoEngineTime};
  static constexpr FeatureDescriptor kMemoryFeature{"process_memory", "GPU memory by process.", Need::nothing_special,
                                                    false, kNoMemory};

  static constexpr std::array<const MetricDescriptor*, 10> kMetrics{
      &kMemory, &kBusy, &kBusyRatio, &kClients, &kProcessInfo, &kCpu, &kResident, &kVirtual, &kProcesses, &kDropped};
  static constexpr std::array<const MetricDescriptor*, 9> kInWindows{
      &kMemory, &kBusy, &kBusyRatio, &kClients, &kProcessInfo, &kCpu, &kResident, &kProcesses, &kDropped};
  static constexpr std::array<const FeatureDescriptor*, 4> kFeatures{&kProcessesFeature, &kFinderFeature,
                                                                     &kEngineTimeFeature, &kMemoryFeature};
  static constexpr std::array<const OptionDescriptor*, 3> kOptions{&kMaxProcesses, &kPerProcess, &kFinder};
  static constexpr CollectorInfo kInfo{
      .name = "fdinfo",
      .help = "GPU time and memory by process.",
      .reads_processes = true,
      .metrics = kMetrics,
      .in_windows = kInWindows,
      .features = kFeatures,
      .options = kOptions,
      .notes =
          "A process series belongs to a PID and a name, and its counters never decrease while the exporter runs: a "
          "new process with the PID and name of an earlier one continues its counters. Engine time counts for the "
          "process that holds the client when the time is used. A client counts in full when it is first seen. When a "
          "client moves to another process (inherited by a child, passed over a socket), the time counted so far stays "
          "with the first process, so that no time is in two series. A client id that the kernel reuses counts as a "
          "new client. The ratio is computed from what the counter gained in its window.",
  };

  explicit FdinfoCollector(const CollectorContext& context);

  void collect(ScrapePass& pass, SampleSink& out) override;
  void gpu_is_suspended() override { table_.asleep(machine_.clock.now()); }

 private:
  // What the driver writes into fdinfo: unknown before the first client, and proven by one that has it.
  enum class Shown { unknown, no, yes };

  void report_finder(const ClientSnapshot& snapshot, SampleSink& out) const;
  void report_features(const ClientSnapshot& snapshot, std::span<const DrmClient> clients, SampleSink& out);
  void write(const ProcessUsage& usage, SampleSink& out);

  Machine& machine_;
  const Gpu& gpu_;
  Shown engine_time_shown_ = Shown::unknown;
  Shown memory_shown_ = Shown::unknown;
  const Nanoseconds min_window_;
  const std::size_t max_processes_;
  const bool per_process_;
  UsageTable& table_;
  std::vector<std::pair<std::string_view, std::array<double, 5>>> regions_;  // kept to reuse its memory
};

}  // namespace igpu
