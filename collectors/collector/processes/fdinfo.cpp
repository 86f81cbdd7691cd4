// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <string_view>

#include "collector/collector.h"
#include "collector/processes/fdinfo_usage.h"
#include "collector/shared/shared_options.h"
#include "kernel/clients/clients.h"

namespace igpu {
namespace {

constexpr GaugeMetric<Bytes, 5> kFdinfoMemory{
    "intel_gpu_process_memory_bytes",
    "GPU memory of the process by region and state; a shared buffer counts in full for each process that holds it.",
    {"device", "pid", "comm", "memory_region", "state"}};
constexpr CounterMetric<Seconds, 4> kFdinfoBusy{"intel_gpu_process_engine_busy_seconds_total",
                                                "Engine time of the process, summed over the engines of the class; on "
                                                "xe without access to the render node, from the second scrape on.",
                                                {"device", "pid", "comm", "class"}};
constexpr GaugeMetric<Ratio, 4> kFdinfoBusyRatio{"intel_gpu_process_engine_busy_ratio",
                                                 "Share of the class's capacity that the process used over the window.",
                                                 {"device", "pid", "comm", "class"}};
constexpr GaugeMetric<Count, 3> kFdinfoClients{
    "intel_gpu_process_clients", "DRM clients of the GPU that the process holds.", {"device", "pid", "comm"}};
constexpr InfoMetric<Count, 8> kProcessInfo{
    "intel_gpu_process_info",
    "User, cgroup and systemd unit of the process; container_id and pod_uid come from its cgroup.",
    {"device", "pid", "comm", "user", "cgroup", "container_id", "pod_uid", "systemd_unit"}};
constexpr CounterMetric<Seconds, 3> kFdinfoCpu{
    "intel_gpu_process_cpu_seconds_total", "CPU time of the process, user and system.", {"device", "pid", "comm"}};
constexpr GaugeMetric<Bytes, 3> kFdinfoResident{
    "intel_gpu_process_resident_memory_bytes", "Resident main memory of the process.", {"device", "pid", "comm"}};
constexpr GaugeMetric<Bytes, 3> kVirtual{
    "intel_gpu_process_virtual_memory_bytes", "Virtual memory of the process.", {"device", "pid", "comm"}};
constexpr GaugeMetric<Count, 1> kFdinfoProcesses{
    "intel_gpu_processes", "Visible processes that hold a client of the GPU.", {"device"}};
constexpr GaugeMetric<Count, 1> kDropped{
    "intel_gpu_processes_dropped",
    "Processes without series of their own: those beyond --collector.fdinfo.max-processes that used the GPU least.",
    {"device"}};
constexpr FeatureDescriptor kFdinfoProcessesFeature{
    "processes", "GPU use of other users' processes; otherwise only processes of the exporter's own user are visible.",
    Need::other_processes, true};
// The same feature if access is denied to a descriptor of a process, not to the process.
constexpr FeatureDescriptor kFdinfoProcessesByLink{
    "processes", "Processes that started to use the GPU while another GPU sleeps.", Need::descriptor_links, true};
// The same feature under Windows.
constexpr FeatureDescriptor kProcessesByHandle{"processes", kFdinfoProcessesFeature.meaning, Need::windows_rights,
                                               true};
constexpr FeatureDescriptor kFinderFeature{"client_finder",
                                           "The kernel reports which processes use a GPU (BPF); otherwise scrapes "
                                           "search /proc, which takes longer the more processes there are.",
                                           Need::client_finder,
                                           true,
                                           {},
                                           true};
constexpr std::array<KernelAbsence, 3> kNoEngineTime{{
    {Driver::i915, kEither, "this kernel's i915 driver leaves engine time out of fdinfo for this GPU",
     "Linux 5.19 or newer; for GPUs with GuC submission (Alder Lake-P, Arc and newer) 6.5; Gen7 and older have none"},
    {Driver::xe, kEither, "this kernel's xe driver leaves engine time out of fdinfo", "Linux 6.11 or newer"},
    {Driver::wddm, kEither, "Windows does not count the time of processes on this GPU", ""},
}};
constexpr std::array<KernelAbsence, 3> kFdinfoNoMemory{{
    {Driver::i915, kEither, "this kernel's i915 driver leaves memory out of fdinfo", "Linux 6.8 or newer"},
    {Driver::xe, kEither, "this kernel's xe driver leaves memory out of fdinfo", "Linux 6.8 or newer"},
    {Driver::wddm, kEither, "Windows does not count the memory of processes on this GPU", ""},
}};
constexpr FeatureDescriptor kEngineTimeFeature{"process_engine_time", "Engine time by process.", Need::nothing_special,
                                               false, kNoEngineTime};
constexpr FeatureDescriptor kFdinfoMemoryFeature{"process_memory", "GPU memory by process.", Need::nothing_special,
                                                 false, kFdinfoNoMemory};

constexpr double kFdinfoUnknown = -1;

// Processes; clients are sorted by PID.
std::size_t holders(std::span<const DrmClient> clients) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < clients.size(); ++i) count += i == 0 || clients[i].pid != clients[i - 1].pid;
  return count;
}

// Engine time and memory of every process that holds a client of the GPU, as DRM fdinfo reports them, and the process's
// names. A client counts once, for the lowest PID that holds it.
class FdinfoCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "fdinfo",
      .help = "GPU time and memory by process.",
      .reads_processes = true,
      .metrics = kListOf<MetricDescriptor, kFdinfoMemory, kFdinfoBusy, kFdinfoBusyRatio, kFdinfoClients, kProcessInfo,
                         kFdinfoCpu, kFdinfoResident, kVirtual, kFdinfoProcesses, kDropped>,
      .in_windows = kListOf<MetricDescriptor, kFdinfoMemory, kFdinfoBusy, kFdinfoBusyRatio, kFdinfoClients,
                            kProcessInfo, kFdinfoCpu, kFdinfoResident, kFdinfoProcesses, kDropped>,
      .features =
          kListOf<FeatureDescriptor, kFdinfoProcessesFeature, kFinderFeature, kEngineTimeFeature, kFdinfoMemoryFeature>,
      .options = kListOf<OptionDescriptor, kMaxProcesses, kPerProcess, kFinder>,
      .notes =
          "A process series belongs to a PID and a name, and its counters never decrease while the exporter runs: a "
          "new process with the PID and name of an earlier one continues its counters. Engine time counts for the "
          "process that holds the client when the time is used. A client counts in full when it is first seen. When a "
          "client moves to another process (inherited by a child, passed over a socket), the time counted so far stays "
          "with the first process, so that no time is in two series. A client id that the kernel reuses counts as a "
          "new client. The ratio is computed from what the counter gained in its window.",
  };

  explicit FdinfoCollector(const CollectorContext& context)
      : machine_(context.machine),
        gpu_(context.gpu),
        min_window_(context.min_window),
        max_processes_(context.options[kMaxProcesses]),
        per_process_(context.options[kPerProcess]),
        table_(context.memory.own<UsageTable>()) {
    table_.device_was_bound();
  }

  void collect(ScrapePass& pass, SampleSink& out) override {
    const auto outcome = pass.clients();
    if (!outcome) {
      out.missing(kFdinfoProcessesFeature, outcome);
      return;
    }
    const ClientSnapshot& snapshot = **outcome;
    const std::span<const DrmClient> clients = snapshot.clients_of(gpu_.address);
    report_finder(snapshot, out);
    report_features(snapshot, clients, out);

    if (!per_process_) {
      if (snapshot.files_left_out == 0) out.add(kFdinfoProcesses, {gpu_.address}, count_of(holders(clients)));
      return;
    }
    // With the rate known the first scan already counts in seconds.
    if (!clients.empty() && snapshot.clocks) snapshot.clocks->query_driver(machine_.drm, gpu_);
    const UsageTable::Update update = table_.update(snapshot, clients, max_processes_, min_window_);
    for (const ProcessUsage& usage : update.processes) write(usage, out);
    if (snapshot.files_left_out > 0) return;  // any of them may be a client of this GPU
    out.add(kFdinfoProcesses, {gpu_.address}, count_of(update.processes.size() + update.dropped));
    out.add(kDropped, {gpu_.address}, count_of(update.dropped));
  }

  void gpu_is_suspended() override { table_.note_sleep(machine_.clock.now()); }

 private:
  // Whether the driver writes a value into fdinfo: unknown before the first client, yes once a client has it.
  enum class Shown { unknown, no, yes };

  void report_finder(const ClientSnapshot& snapshot, SampleSink& out) const {
    if (snapshot.way == "bpf") {
      out.available(kFinderFeature);
    } else if (machine_.drm_users) {  // it was refused later
      out.absent(kFinderFeature, {Reason::permission, EPERM});
    } else if (machine_.drm_users.absent() != Machine::kNoPart) {
      out.absent(kFinderFeature, machine_.drm_users.absent());
    }
  }

  void report_features(const ClientSnapshot& snapshot, std::span<const DrmClient> clients, SampleSink& out) {
    if (const auto hidden = snapshot.why_hidden()) {
      const bool by_handle = gpu_.driver == Driver::wddm;
      out.absent(by_handle                             ? kProcessesByHandle
                 : hidden->reason == Reason::suspended ? kFdinfoProcessesByLink
                                                       : kFdinfoProcessesFeature,
                 *hidden);
    } else {
      out.available(kFdinfoProcessesFeature);
    }
    // Older kernels omit these lines for some or all platforms.
    const auto report = [&](const FeatureDescriptor& feature, Shown& shown, Reason without, const auto& shown_by) {
      if (std::ranges::any_of(clients, shown_by)) shown = Shown::yes;
      if (shown == Shown::unknown && !clients.empty()) shown = Shown::no;
      if (shown == Shown::yes) out.available(feature);
      if (shown == Shown::no) out.absent(feature, {without, 0});
    };
    // xe omits engine time for virtual functions on every kernel.
    const bool never = gpu_.virtual_function && gpu_.driver == Driver::xe;
    report(kEngineTimeFeature, engine_time_shown_, never ? Reason::hardware : Reason::kernel,
           [](const DrmClient& client) { return client.reports_engine_time(); });
    report(kFdinfoMemoryFeature, memory_shown_, Reason::kernel,
           [](const DrmClient& client) { return !client.memory.empty(); });
  }

  void write(const ProcessUsage& usage, SampleSink& out) {
    const ClientProcess& process = *usage.process;
    const std::string_view device = gpu_.address;
    const std::string_view comm = process.comm;
    std::array<char, 16> digits;
    const char* digits_end = std::to_chars(digits.data(), digits.data() + digits.size(), process.pid).ptr;
    const std::string_view pid(digits.data(), static_cast<std::size_t>(digits_end - digits.data()));

    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      const ClassUsage& engine = usage.engines[i];
      const std::string_view class_name = kEngineClassNames[i].label;
      if (engine.busy) out.add(kFdinfoBusy, {device, pid, comm, class_name}, *engine.busy);
      if (engine.busy_ratio) out.add(kFdinfoBusyRatio, {device, pid, comm, class_name}, *engine.busy_ratio);
    }

    for (const DrmClient& client : usage.clients) {
      for (const ClientMemory& memory : client.memory) {
        auto region = std::ranges::find_if(regions_, [&](const auto& r) { return r.first == memory.region; });
        if (region == regions_.end()) {
          regions_.push_back(
              {memory.region, {kFdinfoUnknown, kFdinfoUnknown, kFdinfoUnknown, kFdinfoUnknown, kFdinfoUnknown}});
          region = std::prev(regions_.end());
        }
        for (std::size_t i = 0; i < kMemoryStates.size(); ++i) {
          if (const auto bytes = memory.*kMemoryStates[i].value)
            region->second[i] = std::max(region->second[i], 0.0) + static_cast<double>(*bytes);
        }
      }
    }
    for (const auto& [region, values] : regions_)
      for (std::size_t i = 0; i < kMemoryStates.size(); ++i)
        if (values[i] >= 0)
          out.add(kFdinfoMemory, {device, pid, comm, region, kMemoryStates[i].label}, Bytes{values[i]});
    regions_.clear();  // views into the snapshot

    out.add(kFdinfoClients, {device, pid, comm}, count_of(usage.clients.size()));
    out.add(
        kProcessInfo,
        {device, pid, comm, process.user, process.cgroup, process.container_id, process.pod_uid, process.systemd_unit},
        Count{1});
    if (usage.cpu) out.add(kFdinfoCpu, {device, pid, comm}, *usage.cpu);
    if (process.resident) out.add(kFdinfoResident, {device, pid, comm}, *process.resident);
    if (process.virtual_size) out.add(kVirtual, {device, pid, comm}, *process.virtual_size);
  }

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

}  // namespace

CollectorEntry fdinfo_collector() { return entry<FdinfoCollector>(); }

}  // namespace igpu
