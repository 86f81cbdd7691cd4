// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/workloads_naming.h"
#include "collector/workloads_table.h"
#include "igpu/feature.h"
#include "igpu/metric.h"
#include "igpu/workload_rules.h"
#include "machine/machine.h"
#include "metric/sample_sink.h"
#include "source/clients.h"
#include "source/container_names.h"
#include "source/process_tree.h"

namespace igpu {

// A tree that --workload.tree names.
struct WorkloadTree {
  std::string name;
  std::uint32_t pid = 0;
};
// "PID" or "NAME=PID"; nothing for anything else.
std::optional<WorkloadTree> parse_workload_tree(std::string_view text);

struct WorkloadSettings {
  WorkloadBy by = WorkloadBy::pod;
  std::size_t most = 256;
  std::shared_ptr<WorkloadRuleSource> rules;  // null: none
  std::vector<WorkloadTree> trees;
  const Directory* root = nullptr;  // of the host's file system; null: no names of pods and containers
};

// Who uses the GPUs of the machine, by workload. One object for all GPUs: a workload's processors and memory are not
// those of one of them.
class Workloads {
 public:
  static constexpr Metric<Seconds, 3> kBusy{
      "intel_gpu_workload_engine_busy_seconds_total",
      Kind::counter,
      "Engine time of the workload, added up over the engines of the class; what its ended processes used stays in it.",
      {"device", "workload", "class"}};
  static constexpr Metric<Ratio, 3> kBusyRatio{"intel_gpu_workload_engine_busy_ratio",
                                               Kind::gauge,
                                               "Share of the class's capacity that the workload used over the window.",
                                               {"device", "workload", "class"}};
  static constexpr Metric<Bytes, 4> kMemory{
      "intel_gpu_workload_memory_bytes",
      Kind::gauge,
      "Memory of the workload's GPU buffers by region and state; buffers that are shared count for every client.",
      {"device", "workload", "memory_region", "state"}};
  static constexpr Metric<Count, 2> kClients{"intel_gpu_workload_clients",
                                             Kind::gauge,
                                             "DRM clients of the GPU that the workload holds.",
                                             {"device", "workload"}};
  static constexpr Metric<Count, 1> kProcesses{"intel_gpu_workload_processes",
                                               Kind::gauge,
                                               "Processes of the workload: holders of clients and those below them.",
                                               {"workload"}};
  static constexpr Metric<Count, 1> kStarted{
      "intel_gpu_workload_started_total", Kind::counter, "DRM clients that began.", {"workload"}};
  static constexpr Metric<Seconds, 2> kCpu{"intel_gpu_workload_cpu_seconds_total",
                                           Kind::counter,
                                           "CPU time of the workload's process tree since it was first seen.",
                                           {"workload", "mode"}};
  static constexpr Metric<Bytes, 1> kResident{"intel_gpu_workload_resident_memory_bytes",
                                              Kind::gauge,
                                              "Resident main memory of the workload's process tree.",
                                              {"workload"}};
  static constexpr Metric<Bytes, 1> kRead{"intel_gpu_workload_disk_read_bytes_total",
                                          Kind::counter,
                                          "Bytes that the workload's process tree read from storage.",
                                          {"workload"}};
  static constexpr Metric<Bytes, 1> kWritten{"intel_gpu_workload_disk_written_bytes_total",
                                             Kind::counter,
                                             "Bytes that the workload's process tree wrote towards storage.",
                                             {"workload"}};
  static constexpr Metric<Count, 8> kWorkloadInfo{
      "intel_gpu_workload_info",
      Kind::info,
      "What kind of workload it is; names of pods and containers are those that the host's own files show.",
      {"workload", "kind", "namespace", "pod", "container", "container_id", "pod_uid", "systemd_unit"}};

  static constexpr FeatureDescriptor kNames{"workload_names", "Names of pods and containers; without them only ids.",
                                            Need::nothing_special, true};

  // machine must outlive the object.
  Workloads(Machine& machine, WorkloadSettings settings, Nanoseconds min_window);

  struct Pass {
    const ClientSnapshot& snapshot;
    // Of GPUs that sleep nothing is known now.
    std::span<const std::string> asleep;
    // The PMU's engine time of a GPU by class, where it counts; read after the snapshot.
    const std::map<std::string, WorkloadTable::Measured5>& measured;
  };
  void collect(const Pass& pass, SampleSink& out);

  const WorkloadTable& table() const { return table_; }

 private:
  std::vector<std::uint32_t> roots(const ClientSnapshot& snapshot) const;
  void advance(const ClientSnapshot& snapshot, const ProcessTree::Found& found);
  std::optional<WorkloadLabels> tree_of(std::uint32_t pid, const ProcessTree::Found& found);
  WorkloadLabels labels_of(const ClientProcess& process);
  std::vector<std::string> ancestors_of(std::uint32_t pid) const;
  void write(const WorkloadTable::Workload& workload, const Pass& pass, SampleSink& out) const;
  void write_unattributed(SampleSink& out) const;

  Machine& machine_;
  const WorkloadSettings settings_;
  std::optional<ContainerNames> names_;
  WorkloadNaming naming_;
  ProcessTree tree_;
  WorkloadTable table_;
  std::map<std::uint32_t, std::uint64_t> tree_starts_;  // of the roots of trees, when they were first seen
};

}  // namespace igpu
