// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/scan.h"
#include "collector/collector.h"
#include "collector/engines/engines_facts.h"
#include "collector/shared/job_series.h"
#include "collector/shared/shared_options.h"
#include "collector/workloads/workloads_jobs.h"
#include "collector/workloads/workloads_table.h"
#include "igpu/feature.h"
#include "igpu/metric.h"
#include "igpu/words.h"
#include "igpu/workload_rules.h"
#include "kernel/clients/cgroup_dmem.h"
#include "kernel/clients/clients.h"
#include "kernel/clients/container_names.h"
#include "kernel/clients/process.h"
#include "kernel/clients/workload_naming.h"
#include "kernel/device/engine_class.h"
#include "machine/machine.h"

namespace igpu {
namespace {

constexpr CounterMetric<Seconds, 3> kWorkloadBusy{
    "intel_gpu_workload_engine_busy_seconds_total",
    "Engine time of the workload, added up over the engines of the class; what its ended processes used stays in it.",
    {"device", "workload", "class"}};
constexpr GaugeMetric<Ratio, 3> kWorkloadBusyRatio{
    "intel_gpu_workload_engine_busy_ratio",
    "Share of the class's capacity that the workload used over the window.",
    {"device", "workload", "class"}};
constexpr GaugeMetric<Bytes, 5> kWorkloadMemory{
    "intel_gpu_workload_memory_bytes",
    "Memory of the workload's GPU buffers by region and state, as its clients report it (fdinfo) and as the kernel "
    "charged its cgroups (dmem).",
    {"device", "workload", "memory_region", "state", "source"}};
constexpr GaugeMetric<Count, 2> kWorkloadClients{
    "intel_gpu_workload_clients", "DRM clients of the GPU that the workload holds.", {"device", "workload"}};
constexpr GaugeMetric<Count, 1> kWorkloadProcesses{
    "intel_gpu_workload_processes",
    "Processes of the workload: holders of clients and those below them.",
    {"workload"}};
constexpr CounterMetric<Count, 1> kStarted{"intel_gpu_workload_started_total", "DRM clients that began.", {"workload"}};
constexpr CounterMetric<Seconds, 2> kWorkloadCpu{"intel_gpu_workload_cpu_seconds_total",
                                                 "CPU time of the workload's process tree since it was first seen.",
                                                 {"workload", "mode"}};
constexpr GaugeMetric<Bytes, 1> kWorkloadResident{
    "intel_gpu_workload_resident_memory_bytes", "Resident main memory of the workload's process tree.", {"workload"}};
constexpr CounterMetric<Bytes, 1> kWorkloadRead{"intel_gpu_workload_disk_read_bytes_total",
                                                "Bytes that the workload's process tree read from storage.",
                                                {"workload"}};
constexpr CounterMetric<Bytes, 1> kWritten{"intel_gpu_workload_disk_written_bytes_total",
                                           "Bytes that the workload's process tree wrote towards storage.",
                                           {"workload"}};
constexpr HistogramMetric<Seconds, 4, kJobBounds.size()> kJobQueue{
    "intel_gpu_workload_job_queue_seconds",
    "Time from the submission of a job by the workload to its start.",
    {"device", "workload", "class", "source"},
    kJobBounds};
constexpr HistogramMetric<Seconds, 4, kJobBounds.size()> kJobRun{
    "intel_gpu_workload_job_run_seconds",
    "Time from the start of a job of the workload to its end; only jobs whose end is exact.",
    {"device", "workload", "class", "source"},
    kJobBounds};
constexpr CounterMetric<Count, 5> kWorkloadJobs{"intel_gpu_workload_jobs_total",
                                                "Jobs of the workload by outcome, as intel_gpu_jobs_total.",
                                                {"device", "workload", "class", "source", "outcome"}};
constexpr CounterMetric<Count, 2> kVideoJobs{"intel_gpu_workload_video_jobs_total",
                                             "Jobs of the workload that the video engines have done, as "
                                             "intel_gpu_process_video_jobs_total; those of ended processes stay in it.",
                                             {"device", "workload"}};
constexpr CounterMetric<Count, 3> kWorkloadHangs{
    "intel_gpu_workload_hangs_total", "Hangs that a process of the workload caused.", {"device", "workload", "kind"}};
constexpr InfoMetric<Count, 8> kWorkloadInfo{
    "intel_gpu_workload_info",
    "Kind and names of the workload; names of pods and containers come from the host's own files.",
    {"workload", "kind", "namespace", "pod", "container", "container_id", "pod_uid", "systemd_unit"}};
constexpr FeatureDescriptor kWorkloads{"workloads", "Use of the GPUs by groups of processes.", Need::other_processes,
                                       true};
constexpr FeatureDescriptor kShortJobs{"short_jobs",
                                       "Jobs that begin and end between two scrapes are counted: scans follow the "
                                       "kernel's reports (BPF), or --collector.fdinfo.interval.",
                                       Need::client_finder,
                                       true,
                                       {},
                                       true};
constexpr FeatureDescriptor kNames{"workload_names", "Names of pods and containers; without them only ids.",
                                   Need::container_files, true};
constexpr std::array<KernelAbsence, 2> kNoDmem{
    {{kEither, kEither, "the controller dmem is enabled for no control group",
      "echo +dmem > /sys/fs/cgroup/cgroup.subtree_control, and likewise in the slices below it", EOPNOTSUPP},
     {kEither, kEither, "this kernel has no controller dmem, or cgroup v2 is not below /sys/fs/cgroup",
      "Linux 6.14 or newer with CONFIG_CGROUP_DMEM"}}};
// Optional: most distributions do not enable the controller yet.
constexpr FeatureDescriptor kDmem{"cgroup_card_memory",
                                  "Memory of cards by control group, which takes no permission (docs/workloads.md).",
                                  Need::nothing_special,
                                  true,
                                  kNoDmem,
                                  true};

// A process tree that --workload.tree names.
struct WorkloadTree {
  std::string name;
  std::uint32_t pid = 0;
};

// Accepts "PID" or "NAME=PID"; nullopt for anything else.
std::optional<WorkloadTree> parse_workload_tree(std::string_view text) {
  WorkloadTree tree;
  const std::size_t at = text.rfind('=');
  const std::string_view number = at == std::string_view::npos ? text : text.substr(at + 1);
  const auto pid = scan_integer<std::uint32_t>(number);
  if (!pid || *pid == 0 || trim(number) != number) return std::nullopt;
  if (at == 0) return std::nullopt;
  tree.pid = *pid;
  tree.name = at == std::string_view::npos ? "tree " + std::to_string(*pid) : std::string(text.substr(0, at));
  return tree;
}

// The error for an invalid text, "" for a valid one. For OptionDescriptor::refusal().
std::string refusal_of_workload_tree(std::string_view text) {
  return parse_workload_tree(text) ? std::string() : "is not a process: write PID or NAME=PID";
}

constexpr TextOption kRules{
    {.flag = "workload.rules",
     .default_value = "",
     .help = "YAML file with rules that name workloads; processes that match no rule are grouped by --workload.by. "
             "Read again when it changes. Enables collector workloads."},
    "FILE"};
constexpr TextListOption kTree{{.flag = "workload.tree",
                                .default_value = "",
                                .help = "Treat the process PID and all its descendants as one workload, whether or not "
                                        "they use a GPU. Enables collector workloads."},
                               "[NAME=]PID",
                               &refusal_of_workload_tree};
constexpr NumberOption kMost{{.flag = "workload.max",
                              .default_value = "256",
                              .help = "Maximum number of workloads with series of their own. Beyond it, those that "
                                      "used the GPUs least in the last window are added to workload=\"other\"."},
                             1,
                             65536};

constexpr std::array<EarlyPart, 1> kOpenedForWorkloads{EarlyPart::job_counters_of_all_classes};
constexpr double kWorkloadTicksPerSecond = 100;  // USER_HZ

// Reports the use of all GPUs by workload. There is one object for the machine, because CPU time and main memory of a
// workload do not belong to one GPU.
class WorkloadsCollector final : public MachineCollector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "workloads",
      .help = "GPU time, GPU memory, CPU time, memory and disk bytes by container, pod, unit or process tree.",
      .enabled_by_default = false,
      .reads_processes = true,
      .opened_early = kOpenedForWorkloads,
      .metrics = kListOf<MetricDescriptor, kWorkloadBusy, kWorkloadBusyRatio, kWorkloadMemory, kWorkloadClients,
                         kWorkloadProcesses, kStarted, kWorkloadCpu, kWorkloadResident, kWorkloadRead, kWritten,
                         kJobQueue, kJobRun, kWorkloadJobs, kVideoJobs, kWorkloadHangs, kWorkloadInfo>,
      .features = kListOf<FeatureDescriptor, kWorkloads, kNames, kShortJobs, kDmem>,
      .options = kListOf<OptionDescriptor, kWorkloadBy, kRules, kTree, kMost, kScanInterval>,
      .enabled_by = kListOf<OptionDescriptor, kRules, kTree>,
      .notes =
          "A workload's counters include what its ended processes and closed clients used up to the last scan, and "
          "never decrease. A client's engine time belongs to the workload of the process that holds it when it is "
          "read: the lowest PID where several hold it. A client that is there at the first scan counts from then on; a "
          "later one counts whole, unless it comes with more time than fits since the last scan. "
          "workload=\"unattributed\" is the engine time that the PMU counted and no visible client explains; it needs "
          "collector engines in the same scrape. Series of the process tree include all processes below those that "
          "hold a client. Jobs are counted if collector jobs is in the same scrape; a job belongs to the workload of "
          "the process that submitted it, and to \"unattributed\" if no scan found that process within a minute, or if "
          "more than 959 of them (by GPU and class) submitted jobs between two scrapes. Hangs need collector health, "
          "and a channel that names their processes: the kernel log, the BPF programs of collector jobs (xe), or a "
          "core dump (xe); one whose process the last two scans did not find is \"unattributed\". source=\"dmem\" is "
          "what the kernel charged to the workload's cgroups for buffers in a card's memory: it needs no permission "
          "and no visible client, counts a shared buffer once, and may stand beside source=\"fdinfo\", so choose one "
          "of them.",
  };

  explicit WorkloadsCollector(const MachineContext& context)
      : machine_(context.machine),
        rules_(context.workload_rules),
        most_(context.options[kMost]),
        scans_between_scrapes_(context.options[kScanInterval] > Nanoseconds::zero()),
        names_(machine_.root == nullptr ? std::nullopt : std::optional<ContainerNames>(std::in_place, *machine_.root)),
        naming_(context.options[kWorkloadBy], names_ ? &*names_ : nullptr),
        tree_(machine_),
        dmem_(machine_.sys),
        table_(most_, context.min_window) {
    for (const std::string& tree : context.options[kTree])
      if (auto parsed = parse_workload_tree(tree)) trees_.push_back(*std::move(parsed));
    if (!rules_ && !context.options[kRules].empty())
      throw std::logic_error("--workload.rules is given, but MonitorOptions::workload_rules is not");
  }

  void collect(MachinePass& pass, SampleSink& out) override {
    const Now now = scan(pass, out);
    hangs_.count(pass.facts().take<ProcessHang>());
    hangs_.fold(table_.folded_names());
    for (const WorkloadTable::Workload* workload : table_.workloads()) write(*workload, now, out);
    write_unattributed(out);
    write_dmem(pass, out);
    write_jobs(out);
    for (const auto& [series, hangs] : hangs_.series()) {
      const auto& [device, workload, kind] = series;
      out.add(kWorkloadHangs, {device, workload, kind}, count_of(hangs));
    }
    report_names(out);
    report_short_jobs(out);
  }

 private:
  // The values that this scrape has read; all others are from an earlier scan.
  struct Now {
    std::span<const std::string> asleep;
    bool clients = false;
    bool processes = false;
  };
  // Without the clients or the processes nothing is counted now, and nothing is lost: the next scan continues from the
  // last one.
  Now scan(MachinePass& pass, SampleSink& out) {
    Now now;
    now.asleep = pass.asleep();
    const auto clients = pass.clients();
    out.missing(kWorkloads, clients);
    if (rules_) naming_.use(rules_->current());
    if (names_) names_->begin_scan(clients ? (*clients)->time : pass.now());
    if (!clients) return now;
    const ClientSnapshot& snapshot = **clients;
    ask_for_clocks(pass, snapshot);
    const auto found = tree_.below(roots(snapshot));
    out.missing(kWorkloads, found);
    if (!found) return now;
    out.available(kWorkloads);
    advance(snapshot, *found, now.asleep);
    jobs_.advance(pass.facts().by_device<CountedJobs>(), snapshot);
    jobs_.fold(table_.folded_names());
    now.clients = true;
    now.processes = found->complete;
    // What an incomplete scan has not read would never be counted.
    if (!snapshot.complete) return now;
    for (const auto& [device, busy] : pass.facts().by_device<EngineSeconds>()) table_.measured(device, busy);
    return now;
  }

  // With the rate known the first scan already counts in seconds.
  void ask_for_clocks(const MachinePass& pass, const ClientSnapshot& snapshot) {
    const auto gpus = pass.gpus();
    for (const Gpu& gpu : *gpus)
      if (snapshot.clocks && !snapshot.clients_of(gpu.address).empty() && !contains(pass.asleep(), gpu.address))
        snapshot.clocks->query_driver(machine_.drm, gpu);
  }

  void report_names(SampleSink& out) const {
    if (!names_) {
      out.absent(kNames, {Reason::disabled, 0});
    } else if (const auto missing = names_->why_missing()) {
      out.absent(kNames, *missing);
    } else {
      out.available(kNames);
    }
  }

  void report_short_jobs(SampleSink& out) const {
    const auto& users = machine_.drm_users;
    if (scans_between_scrapes_ || (users && (*users)->change_signal() != nullptr)) {
      out.available(kShortJobs);
    } else if (users) {
      out.absent(kShortJobs, {Reason::kernel, EOPNOTSUPP});
    } else if (users.absent() != Machine::kNoPart) {
      out.absent(kShortJobs, users.absent());
    }
  }

  std::vector<std::uint32_t> roots(const ClientSnapshot& snapshot) const {
    std::vector<std::uint32_t> pids;
    for (const ClientProcess& process : snapshot.processes) pids.push_back(process.pid);
    for (const WorkloadTree& tree : trees_) pids.push_back(tree.pid);
    return pids;
  }

  void advance(const ClientSnapshot& snapshot, const ProcessTree::Found& found, std::span<const std::string> asleep) {
    for (const WorkloadTree& tree : trees_)
      if (const TreeProcess* root = find_process(found.processes, tree.pid))
        tree_starts_.try_emplace(tree.pid, root->start_ticks);
    std::vector<WorkloadTable::Owner> owners;
    owners.reserve(snapshot.processes.size());
    const auto add_owner = [&](std::uint32_t pid) {
      // All processes below the root of a tree belong to its workload.
      auto labels = tree_of(pid, found);
      const ClientProcess* const holder = labels ? nullptr : snapshot.process(pid);
      if (holder) labels = naming_.labels_of(*holder, machine_.proc);
      if (labels) owners.push_back({pid, *std::move(labels)});
    };
    for (const TreeProcess& process : found.processes) add_owner(process.pid);
    for (const ClientProcess& process : snapshot.processes)
      if (!find_process(found.processes, process.pid)) add_owner(process.pid);
    table_.advance({snapshot, owners, found.processes, found.now_ticks, found.complete, asleep});
    hangs_.begin_scan();
    const auto note_member = [&](std::uint32_t pid, std::uint64_t start_ticks) {
      const std::string* const workload = table_.workload_of(pid);
      if (!workload) return;
      hangs_.found(pid, *workload);
      if (machine_.job_counters) jobs_.found(pid, start_ticks, *workload, snapshot.time);
    };
    for (const ClientProcess& process : snapshot.processes) note_member(process.pid, process.start_time_ticks);
    for (const TreeProcess& process : found.processes)
      if (!snapshot.process(process.pid)) note_member(process.pid, process.start_ticks);
  }

  std::optional<WorkloadLabels> tree_of(std::uint32_t pid, const ProcessTree::Found& found) {
    if (trees_.empty()) return std::nullopt;
    const TreeProcess* process = find_process(found.processes, pid);
    for (std::size_t steps = 0; process != nullptr && steps < found.processes.size(); ++steps) {
      for (const WorkloadTree& tree : trees_) {
        // The PID may have been reused.
        const auto start = tree_starts_.find(tree.pid);
        if (tree.pid != process->pid || start == tree_starts_.end() || start->second != process->start_ticks) continue;
        WorkloadLabels labels;
        labels.kind = "tree";
        labels.workload = workload_name(tree.name, labels.kind);
        return labels;
      }
      process = find_process(found.processes, process->parent);
    }
    return std::nullopt;
  }

  static void write(const WorkloadTable::Workload& workload, const Now& now, SampleSink& out) {
    const WorkloadLabels& labels = workload.labels;
    for (const auto& [address, device] : workload.devices)
      write_device(labels.workload, address, device, now.clients && !contains(now.asleep, address), out);
    out.add(kStarted, {labels.workload}, count_of(workload.started));
    write_tree(workload, now.processes, out);
    if (labels.workload == WorkloadTable::kOther) return;
    write_info(labels, out);
  }

  static void write_device(const std::string& name, const std::string& address, const WorkloadTable::Device& device,
                           bool now, SampleSink& out) {
    for (const EngineClassNames& names : kEngineClassNames) {
      const auto i = static_cast<std::size_t>(names.engine_class);
      if (!device.shown[i]) continue;
      out.add(kWorkloadBusy, {address, name, names.label}, Seconds{device.busy[i]});
      if (device.ratio[i] && now) out.add(kWorkloadBusyRatio, {address, name, names.label}, *device.ratio[i]);
    }
    if (!now) return;
    out.add(kWorkloadClients, {address, name}, count_of(device.clients));
    for (const auto& [key, bytes] : device.memory)
      out.add(kWorkloadMemory, {address, name, key.first, key.second, "fdinfo"}, Bytes{bytes});
  }

  static void write_info(const WorkloadLabels& labels, SampleSink& out) {
    out.add(kWorkloadInfo,
            {labels.workload, labels.kind, labels.name_space, labels.pod, labels.container, labels.container_id,
             labels.pod_uid, labels.systemd_unit},
            Count{1});
  }

  static void write_tree(const WorkloadTable::Workload& workload, bool now, SampleSink& out) {
    const std::string& name = workload.labels.workload;
    if (now) {
      out.add(kWorkloadProcesses, {name}, count_of(workload.processes));
      out.add(kWorkloadResident, {name}, Bytes{static_cast<double>(workload.resident_bytes)});
    }
    out.add(kWorkloadCpu, {name, "user"}, Seconds{static_cast<double>(workload.user_ticks) / kWorkloadTicksPerSecond});
    out.add(kWorkloadCpu, {name, "system"},
            Seconds{static_cast<double>(workload.system_ticks) / kWorkloadTicksPerSecond});
    if (!workload.disk_known) return;
    out.add(kWorkloadRead, {name}, Bytes{static_cast<double>(workload.read_bytes)});
    out.add(kWritten, {name}, Bytes{static_cast<double>(workload.written_bytes)});
  }

  void write_unattributed(SampleSink& out) const {
    for (const auto& [address, busy] : table_.unattributed())
      for (const EngineClassNames& names : kEngineClassNames)
        if (const auto& seconds = busy[static_cast<std::size_t>(names.engine_class)])
          out.add(kWorkloadBusy, {address, WorkloadTable::kUnattributed, names.label}, Seconds{*seconds});
  }

  // The name of a group's workload is that of a process in it, as far as its path tells; other groups have none.
  void write_dmem(const MachinePass& pass, SampleSink& out) {
    const auto gpus = pass.gpus();
    const auto is_xe_card = [](const Gpu& gpu) { return gpu.driver == Driver::xe && gpu.kind == GpuKind::discrete; };
    if (std::ranges::none_of(*gpus, is_xe_card)) return out.absent(kDmem, {Reason::hardware});
    const auto groups = dmem_.read();
    out.missing(kDmem, groups);
    if (!groups) return;
    out.available(kDmem);
    std::set<std::string, std::less<>> known;
    for (const WorkloadTable::Workload* workload : table_.workloads()) known.insert(workload->labels.workload);
    std::map<std::string, std::map<std::pair<std::string, std::string>, double>>
        charged;  // by workload, device, region
    for (const CgroupDmem& group : *groups) {
      ClientProcess process;
      set_cgroup(process, group.cgroup);
      const WorkloadLabels labels = naming_.labels_of({process});
      if (labels.kind == "comm" || labels.kind == "user") continue;
      const bool is_new = !known.contains(labels.workload);
      const bool is_too_many = is_new && known.size() >= most_;
      const bool is_folded = is_too_many || table_.folded_names().contains(labels.workload);
      if (is_new && !is_folded) {
        known.insert(labels.workload);
        write_info(labels, out);
      }
      auto& of_workload = charged[is_folded ? std::string(WorkloadTable::kOther) : labels.workload];
      for (const DmemCharge& charge : group.charges)
        if (std::ranges::any_of(*gpus, [&](const Gpu& gpu) { return gpu.address == charge.device; }))
          of_workload[{charge.device, charge.region}] += static_cast<double>(charge.bytes);
    }
    for (const auto& [workload, regions] : charged)
      for (const auto& [region, bytes] : regions)
        out.add(kWorkloadMemory, {region.first, workload, region.second, "resident", "dmem"}, Bytes{bytes});
  }

  void write_jobs(SampleSink& out) const {
    for (const auto& [workload, all] : jobs_.by_workload()) {
      std::map<std::string_view, std::uint64_t> video;  // by device, of all sources
      for (const auto& [series, counts] : all) {
        const std::string& device = std::get<0>(series);
        const std::string_view engine_class = to_string(counts.engine_class), source = to_string(counts.source);
        out.add(kJobQueue, {device, workload, engine_class, source}, {counts.queue, Seconds{counts.queue_seconds}});
        out.add(kJobRun, {device, workload, engine_class, source}, {counts.run, Seconds{counts.run_seconds}});
        for (std::size_t i = 0; i < JOB_OUTCOMES; ++i) {
          if (is_possible_outcome(counts.source, i))
            out.add(kWorkloadJobs, {device, workload, engine_class, source, kJobOutcomes[i]},
                    count_of(counts.outcomes[i]));
        }
        if (counts.engine_class == JobClass::video) video[device] += counts.done();
      }
      for (const auto& [device, jobs] : video) out.add(kVideoJobs, {device, workload}, count_of(jobs));
    }
  }

  Machine& machine_;
  const std::shared_ptr<WorkloadRuleSource> rules_;  // null: none
  std::vector<WorkloadTree> trees_;
  const std::size_t most_;
  const bool scans_between_scrapes_;
  std::optional<ContainerNames> names_;
  WorkloadNaming naming_;
  ProcessTree tree_;
  CgroupDmemTree dmem_;
  WorkloadTable table_;
  WorkloadJobs jobs_;
  WorkloadHangs hangs_;
  std::map<std::uint32_t, std::uint64_t> tree_starts_;  // start time of each root of a tree, by PID
};

}  // namespace

CollectorEntry workloads_collector() { return entry<WorkloadsCollector>(); }

}  // namespace igpu
