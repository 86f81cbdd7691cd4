// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/collector.h"
#include "collector/shared/job_series.h"
#include "collector/shared/shared_options.h"
#include "collector/workloads/workloads_jobs.h"
#include "collector/workloads/workloads_table.h"
#include "igpu/feature.h"
#include "igpu/metric.h"
#include "igpu/workload_rules.h"
#include "kernel/clients/cgroup_dmem.h"
#include "kernel/clients/clients.h"
#include "kernel/clients/container_names.h"
#include "kernel/clients/process_tree.h"
#include "kernel/clients/workload_naming.h"
#include "machine/machine.h"
#include "metric/sample_sink.h"

namespace igpu {

// A process tree that --workload.tree names.
struct WorkloadTree {
  std::string name;
  std::uint32_t pid = 0;
};
// Accepts "PID" or "NAME=PID"; nullopt for anything else.
std::optional<WorkloadTree> parse_workload_tree(std::string_view text);
// The error for an invalid text, "" for a valid one. For OptionDescriptor::refusal().
std::string refusal_of_workload_tree(std::string_view text);

struct WorkloadSettings {
  WorkloadBy by = WorkloadBy::pod;
  std::size_t most = 256;
  std::shared_ptr<WorkloadRuleSource> rules;  // null: none
  std::vector<WorkloadTree> trees;
  bool scans_between_scrapes = false;
  const Directory* root = nullptr;  // the host's file system; null: names of pods and containers are not read
};

// Reports the use of all GPUs by workload. There is one object for the machine, because CPU time and main memory of a
// workload do not belong to one GPU.
class WorkloadsCollector final : public MachineCollector {
 public:
  static const CollectorInfo kInfo;

  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  // machine must outlive the object.
  WorkloadsCollector(Machine& machine, WorkloadSettings settings, Nanoseconds min_window);

  void collect(MachinePass& pass, SampleSink& out) override;

 private:
  // The values that this scrape has read; all others are from an earlier scan.
  struct Now {
    std::span<const std::string> asleep;
    bool clients = false;
    bool processes = false;
  };
  Now scan(MachinePass& pass, SampleSink& out);
  void ask_for_clocks(const MachinePass& pass, const ClientSnapshot& snapshot);
  void report_names(SampleSink& out) const;
  void report_short_jobs(SampleSink& out) const;
  std::vector<std::uint32_t> roots(const ClientSnapshot& snapshot) const;
  void advance(const ClientSnapshot& snapshot, const ProcessTree::Found& found, std::span<const std::string> asleep);
  std::optional<WorkloadLabels> tree_of(std::uint32_t pid, const ProcessTree::Found& found);
  static void write(const WorkloadTable::Workload& workload, const Now& now, SampleSink& out);
  static void write_device(const std::string& name, const std::string& address, const WorkloadTable::Device& device,
                           bool now, SampleSink& out);
  static void write_info(const WorkloadLabels& labels, SampleSink& out);
  static void write_tree(const WorkloadTable::Workload& workload, bool now, SampleSink& out);
  void write_unattributed(SampleSink& out) const;
  void write_dmem(const MachinePass& pass, SampleSink& out);
  void write_jobs(SampleSink& out) const;

  Machine& machine_;
  const WorkloadSettings settings_;
  std::optional<ContainerNames> names_;
  WorkloadNaming naming_;
  ProcessTree tree_;
  CgroupDmemTree dmem_;
  WorkloadTable table_;
  WorkloadJobs jobs_;
  WorkloadHangs hangs_;
  std::map<std::uint32_t, std::uint64_t> tree_starts_;  // start time of each root of a tree, by PID
};

}  // namespace igpu
