// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/collector.h"
#include "collector/shared/job_series.h"
#include "collector/shared/shared_options.h"
#include "collector/shared/workload_naming.h"
#include "collector/workloads_hangs.h"
#include "collector/workloads_jobs.h"
#include "collector/workloads_table.h"
#include "igpu/feature.h"
#include "igpu/metric.h"
#include "igpu/workload_rules.h"
#include "machine/machine.h"
#include "metric/sample_sink.h"
#include "source/cgroup_dmem.h"
#include "source/clients.h"
#include "source/container_names.h"
#include "source/process_tree.h"

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
  static constexpr Metric<Seconds, 3> kBusy{
      "intel_gpu_workload_engine_busy_seconds_total",
      Kind::counter,
      "Engine time of the workload, added up over the engines of the class; what its ended processes used stays in it.",
      {"device", "workload", "class"}};
  static constexpr Metric<Ratio, 3> kBusyRatio{"intel_gpu_workload_engine_busy_ratio",
                                               Kind::gauge,
                                               "Share of the class's capacity that the workload used over the window.",
                                               {"device", "workload", "class"}};
  static constexpr Metric<Bytes, 5> kMemory{
      "intel_gpu_workload_memory_bytes",
      Kind::gauge,
      "Memory of the workload's GPU buffers by region and state, as its clients report it (fdinfo) and as the kernel "
      "charged its cgroups (dmem).",
      {"device", "workload", "memory_region", "state", "source"}};
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
  static constexpr HistogramMetric<Seconds, 4, kJobBounds.size()> kJobQueue{
      "intel_gpu_workload_job_queue_seconds",
      "Time from the submission of a job by the workload to its start.",
      {"device", "workload", "class", "source"},
      kJobBounds};
  static constexpr HistogramMetric<Seconds, 4, kJobBounds.size()> kJobRun{
      "intel_gpu_workload_job_run_seconds",
      "Time from the start of a job of the workload to its end; only jobs whose end is exact.",
      {"device", "workload", "class", "source"},
      kJobBounds};
  static constexpr Metric<Count, 5> kJobs{"intel_gpu_workload_jobs_total",
                                          Kind::counter,
                                          "Jobs of the workload by outcome, as intel_gpu_jobs_total.",
                                          {"device", "workload", "class", "source", "outcome"}};
  static constexpr Metric<Count, 2> kVideoJobs{
      "intel_gpu_workload_video_jobs_total",
      Kind::counter,
      "Jobs of the workload that the video engines have done, as intel_gpu_process_video_jobs_total; those of ended "
      "processes stay in it.",
      {"device", "workload"}};
  static constexpr Metric<Count, 3> kHangs{"intel_gpu_workload_hangs_total",
                                           Kind::counter,
                                           "Hangs that a process of the workload caused.",
                                           {"device", "workload", "kind"}};
  static constexpr Metric<Count, 8> kWorkloadInfo{
      "intel_gpu_workload_info",
      Kind::info,
      "Kind and names of the workload; names of pods and containers come from the host's own files.",
      {"workload", "kind", "namespace", "pod", "container", "container_id", "pod_uid", "systemd_unit"}};

  static constexpr FeatureDescriptor kWorkloads{"workloads", "Use of the GPUs by groups of processes.",
                                                Need::other_processes, true};
  static constexpr FeatureDescriptor kShortJobs{"short_jobs",
                                                "Jobs that begin and end between two scrapes are counted: scans follow "
                                                "the kernel's reports (BPF), or --collector.fdinfo.interval.",
                                                Need::client_finder,
                                                true,
                                                {},
                                                true};
  static constexpr FeatureDescriptor kNames{"workload_names", "Names of pods and containers; without them only ids.",
                                            Need::container_files, true};

  static constexpr std::array<KernelAbsence, 2> kNoDmem{
      {{{},
        {},
        "the controller dmem is enabled for no control group",
        "echo +dmem > /sys/fs/cgroup/cgroup.subtree_control, and likewise in the slices below it",
        EOPNOTSUPP},
       {{},
        {},
        "this kernel has no controller dmem, or cgroup v2 is not below /sys/fs/cgroup",
        "Linux 6.14 or newer with CONFIG_CGROUP_DMEM"}}};
  // Optional: most distributions do not enable the controller yet.
  static constexpr FeatureDescriptor kDmem{"cgroup_card_memory",
                                           "Memory of cards by control group, which takes no permission "
                                           "(docs/workloads.md).",
                                           Need::nothing_special,
                                           true,
                                           kNoDmem,
                                           true};

  static constexpr TextOption kRules{
      {.flag = "workload.rules",
       .default_value = "",
       .help = "YAML file with rules that name workloads; processes that match no rule are grouped by --workload.by. "
               "Read again when it changes. Enables collector workloads."},
      "FILE"};
  static constexpr TextListOption kTree{{.flag = "workload.tree",
                                         .default_value = "",
                                         .help = "Treat the process PID and all its descendants as one workload, "
                                                 "whether or not they use a GPU. Enables collector workloads."},
                                        "[NAME=]PID",
                                        &refusal_of_workload_tree};
  static constexpr NumberOption kMost{
      {.flag = "workload.max",
       .default_value = "256",
       .help = "Maximum number of workloads with series of their own. Beyond it, those that used the GPUs least in the "
               "last window are added to workload=\"other\"."},
      1,
      65536};
  static constexpr std::array<const OptionDescriptor*, 5> kOptions{&kWorkloadBy, &kRules, &kTree, &kMost,
                                                                   &kScanInterval};
  static constexpr std::array<const OptionDescriptor*, 2> kEnabling{&kRules, &kTree};
  static constexpr std::array<const MetricDescriptor*, 16> kMetrics{
      &kBusy, &kBusyRatio, &kMemory,   &kClients, &kProcesses, &kStarted,   &kCpu,   &kResident,
      &kRead, &kWritten,   &kJobQueue, &kJobRun,  &kJobs,      &kVideoJobs, &kHangs, &kWorkloadInfo};
  static constexpr std::array<const FeatureDescriptor*, 4> kFeatures{&kWorkloads, &kNames, &kShortJobs, &kDmem};
  static constexpr CollectorInfo kInfo{
      .name = "workloads",
      .help = "GPU time, GPU memory, CPU time, memory and disk bytes by container, pod, unit or process tree.",
      .enabled_by_default = false,
      .reads_processes = true,
      .metrics = kMetrics,
      .features = kFeatures,
      .options = kOptions,
      .enabled_by = kEnabling,
      .notes =
          "A workload's counters include what its ended processes and closed clients used up to the last scan, and "
          "never decrease. A client's engine time belongs to the workload of the process that holds it when it is "
          "read: the lowest PID where several hold it. A client that is there at the first scan counts from then on; a "
          "later one counts whole, unless it comes with more time than fits since the last scan. "
          "workload=\"unattributed\" is the engine time that the PMU counted and no visible client explains; it "
          "needs collector engines in the same scrape. Series of the process tree include all processes below those "
          "that hold a client. Jobs are counted if collector jobs is in the same scrape; a job belongs to the workload "
          "of the process that submitted it, and to \"unattributed\" if no scan found that process within a minute, "
          "or if more than 959 of them (by GPU and class) submitted jobs between two scrapes. Hangs need collector "
          "health, and a channel that names their processes: the kernel log, the BPF programs of collector jobs (xe), "
          "or a core dump (xe); one whose process the last two scans did not find is \"unattributed\". "
          "source=\"dmem\" is what the kernel charged to the workload's cgroups for buffers in a card's memory: it "
          "needs "
          "no permission and no visible client, counts a shared buffer once, and may stand beside source=\"fdinfo\", "
          "so "
          "choose one of them.",
  };

  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  // machine must outlive the object.
  WorkloadsCollector(Machine& machine, WorkloadSettings settings, Nanoseconds min_window);

  void collect(MachinePass& pass, SampleSink& out) override;

 private:
  // Which values this scrape has read; all others are from an earlier scan.
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
  void count_jobs(const JobCountersByDevice& counters, const ClientSnapshot& snapshot);
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
