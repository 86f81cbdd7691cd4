// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/monotonic_counter.h"
#include "collector/collector.h"
#include "collector/engines/engines_facts.h"
#include "kernel/clients/container_names.h"
#include "kernel/clients/workload_naming.h"
#include "kernel/sriov/sriov_files.h"
#include "kernel/sriov/vfio_holders.h"
#include "machine/linux_errors.h"

namespace igpu {
namespace {

constexpr GaugeMetric<Count, 2> kVfs{"intel_gpu_vfs",
                                     "SR-IOV virtual functions: those that are enabled, and how many there can be.",
                                     {"device", "state"}};
constexpr InfoMetric<Count, 5> kVfInfo{
    "intel_gpu_vf_info",
    "Driver of the virtual function (none: it is not bound), and the virtual machine that holds it; the value is 1.",
    {"device", "vf", "vf_address", "driver", "workload"}};
constexpr CounterMetric<Seconds, 5> kSriovBusy{
    "intel_gpu_vf_engine_busy_seconds_total",
    "Time that the engine worked for the virtual function, as the physical function's PMU counts it.",
    {"device", "vf", "gt", "engine", "class"}};
constexpr GaugeMetric<Ratio, 5> kSriovBusyRatio{"intel_gpu_vf_engine_busy_ratio",
                                                "Share of the window in which the engine worked for the virtual "
                                                "function; of the engine's time, not of the function's share of it.",
                                                {"device", "vf", "gt", "engine", "class"}};
constexpr GaugeMetric<Seconds, 2> kQuantum{
    "intel_gpu_vf_exec_quantum_seconds",
    "Longest time for which the virtual function may use an engine before the next one's turn; 0: not limited.",
    {"device", "vf"}};
constexpr GaugeMetric<Seconds, 2> kPreempt{
    "intel_gpu_vf_preempt_timeout_seconds",
    "Time that work of the virtual function has to make way before it is stopped; 0: not limited.",
    {"device", "vf"}};
constexpr GaugeMetric<Bytes, 2> kVramQuota{
    "intel_gpu_vf_vram_quota_bytes", "Card memory that the virtual function may use.", {"device", "vf"}};
constexpr CounterMetric<Count, 3> kAdverse{
    "intel_gpu_vf_adverse_events_total",
    "Times that the firmware reported the virtual function for faults, resets, or an excess of interrupts.",
    {"device", "vf", "kind"}};

constexpr std::array<KernelAbsence, 2> kNoEngines{{
    {Driver::xe, kEither,
     "this kernel's xe PMU does not count functions; intel_gpu_engine_busy_* is the physical function's own share only",
     "Linux 6.16 or newer"},
    {Driver::i915, kEither,
     "the PMU of i915 does not count virtual functions; intel_gpu_engine_busy_* is the physical function's own share "
     "only",
     ""},
}};
constexpr std::array<KernelAbsence, 3> kNoShares{{
    {kEither, kEither, "the values of the GPU's GTs differ, so the driver reports none",
     "set the same value for all GTs", EUCLEAN},
    {Driver::xe, kEither, "this kernel's xe driver has no sriov_admin", "Linux 6.19 or newer"},
    {Driver::i915, kEither, "this i915 driver has no prelim_iov", "only the out-of-tree driver i915-sriov-dkms has it"},
}};
constexpr std::array<KernelAbsence, 2> kNoAdverse{{
    {Driver::xe, kEither, "the driver's debugfs shows no adverse_events",
     "mount -t debugfs none /sys/kernel/debug; Linux 6.8 or newer with CONFIG_DEBUG_FS"},
    {Driver::i915, kEither, "the driver's debugfs shows no adverse_events",
     "only the out-of-tree driver i915-sriov-dkms has it; mount -t debugfs none /sys/kernel/debug"},
}};

constexpr FeatureDescriptor kFunctions{"virtual_functions", "SR-IOV virtual functions of this GPU.",
                                       Need::nothing_special};
constexpr FeatureDescriptor kEngines{"vf_engine_busy", "Engine time of each virtual function.", Need::perf_events,
                                     false, kNoEngines};
constexpr FeatureDescriptor kShares{"vf_shares", "Time slices and memory quota of each virtual function.",
                                    Need::nothing_special, false, kNoShares};
constexpr FeatureDescriptor kHolders{"vf_workload", "Virtual machines that hold virtual functions.",
                                     Need::other_processes};
// The same feature with another need.
constexpr FeatureDescriptor kHoldersByLink{"vf_workload", kHolders.meaning, Need::descriptor_links};
constexpr FeatureDescriptor kSriovEvents{"vf_adverse_events",  "Adverse events of each virtual function (debugfs).",
                                         Need::root_only_file, false,
                                         kNoAdverse,           true};

bool is_held_by_vfio(const VfDevice& function) { return function.driver.find("vfio") != std::string::npos; }

// SR-IOV virtual functions of the GPUs, as their host sees them, and the machines that hold them. One object for all
// GPUs, because one search of /proc finds the holders of all functions.
class SriovCollector final : public MachineCollector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "sriov",
      .help = "SR-IOV virtual functions of each GPU, and the virtual machines that hold them.",
      .in_snapshots = false,
      .reads_processes = true,
      .metrics = kListOf<MetricDescriptor, kVfs, kVfInfo, kSriovBusy, kSriovBusyRatio, kQuantum, kPreempt, kVramQuota,
                         kAdverse>,
      .features = kListOf<FeatureDescriptor, kFunctions, kEngines, kShares, kHolders, kSriovEvents>,
      .options = kListOf<OptionDescriptor, kWorkloadBy>,
      .notes =
          "Of physical functions only, so of the host; a GPU without SR-IOV has none of these series. Engine time of "
          "virtual functions is counted by collector engines, in the same scrape, while it has the PMU open; collector "
          "engines reports the sum of all functions for the GPU. A ratio is a share of the engine's time: those of all "
          "functions add up to at most 1. `workload` is named as in collector workloads: the libvirt or Proxmox "
          "machine, or the pod; it is empty for functions that no machine holds, and for those that are used on the "
          "host. Holders are searched in /proc while a function with a VFIO driver has none: at most every 30 s, and "
          "50 ms at a time. Of more than 256 functions the first ones are reported; engine time is counted of the "
          "first 64 only. Adverse events start again in the driver when a function is reset; the counters do not."};

  explicit SriovCollector(const MachineContext& context)
      : machine_(context.machine),
        rules_(context.workload_rules),
        names_(machine_.root == nullptr ? std::nullopt : std::optional<ContainerNames>(std::in_place, *machine_.root)),
        naming_(context.options[kWorkloadBy], names_ ? &*names_ : nullptr),
        holders_(machine_) {}

  void collect(MachinePass& pass, SampleSink& out) override {
    const auto gpus = pass.gpus();
    std::erase_if(devices_, [&](const auto& known) {
      return std::ranges::none_of(*gpus, [&](const Gpu& gpu) { return gpu.address == known.first; });
    });
    std::vector<const Gpu*> with_functions;
    std::vector<const VfDevice*> held;
    const Nanoseconds now = pass.now();
    holders_.check(now);
    for (const Gpu& gpu : *gpus) {
      if (gpu.virtual_function) {
        out.absent(kFunctions, {Reason::hardware}, gpu.address);
        continue;
      }
      Device& device = device_of(gpu);
      if (!read_functions(gpu, device, pass, out)) continue;
      with_functions.push_back(&gpu);
      for (const VfDevice& function : device.functions)
        if (is_held_by_vfio(function)) held.push_back(&function);
    }
    holders_.follow(held, now);
    if (with_functions.empty()) return;
    if (rules_ && std::exchange(current_rules_, rules_->current()) != current_rules_) {
      naming_.use(current_rules_);
      named_.clear();
    }
    if (names_) names_->begin_scan(now);
    for (const Gpu* const gpu : with_functions) {
      Device& device = device_of(*gpu);
      write_info(*gpu, device, out);
      write_engines(*gpu, device, pass, out);
      write_shares(*gpu, device, out);
      write_adverse_events(*gpu, device, out);
    }
  }

 private:
  struct Device {
    Device(const Directory& sys, const Gpu& gpu) : binding(gpu.binding), pf(sys, gpu), adverse(sys, gpu) {}
    std::uint64_t binding;
    PhysicalFunction pf;
    AdverseEventFiles adverse;
    std::span<const VfDevice> functions;  // of this scrape
  };
  struct NamedHolder {
    std::uint64_t serial = 0;  // of the VfioHolders::Holder
    std::string workload;
  };
  // By function and kind. They continue when the GPU is rebound.
  using AdverseCounters = std::map<std::pair<std::uint32_t, std::string>, MonotonicCounter>;

  Device& device_of(const Gpu& gpu) {
    const auto known = devices_.find(gpu.address);
    if (known != devices_.end() && known->second.binding == gpu.binding) return known->second;
    if (known != devices_.end()) devices_.erase(known);
    return devices_.try_emplace(gpu.address, machine_.sys, gpu).first->second;
  }

  // Whether any are enabled.
  bool read_functions(const Gpu& gpu, Device& device, MachinePass& pass, SampleSink& out) {
    device.functions = {};
    const auto total = device.pf.total();
    const auto engines = pass.facts().get<VfEngines>(gpu.address);
    const auto enabled = engines ? engines->enabled : device.pf.enabled();
    if (total.is_absent() && enabled.is_absent()) return false;
    out.available(kFunctions, gpu.address);
    const auto write = [&](const Reading<std::uint32_t>& count, std::string_view state) {
      if (count) out.add(kVfs, {gpu.address, state}, count_of(*count));
      if (count.is_failure()) out.failed(count.failure());
    };
    write(enabled, "enabled");
    write(total, "total");
    if (!enabled) return false;
    device.functions =
        device.pf.functions(*enabled, [&](std::string_view address) { return holders_.is_in_use(address); });
    return *enabled != 0;
  }

  static void write_shares(const Gpu& gpu, Device& device, SampleSink& out) {
    FeatureReport report(out, kShares, {Reason::kernel}, false, gpu.address);
    for (std::size_t i = 0; i < device.functions.size(); ++i) {
      const std::string vf = std::to_string(device.functions[i].number);
      const VfShares shares = device.pf.shares(i);
      if (report.note(shares.exec_quantum)) out.add(kQuantum, {gpu.address, vf}, *shares.exec_quantum);
      if (report.note(shares.preempt_timeout)) out.add(kPreempt, {gpu.address, vf}, *shares.preempt_timeout);
      if (report.note(shares.vram_quota)) out.add(kVramQuota, {gpu.address, vf}, *shares.vram_quota);
    }
  }

  static void write_engines(const Gpu& gpu, const Device& device, MachinePass& pass, SampleSink& out) {
    const auto asleep = pass.asleep();
    if (std::ranges::find(asleep, gpu.address) != asleep.end())
      return out.absent(kEngines, {Reason::suspended}, gpu.address);
    const auto engines = pass.facts().get<VfEngines>(gpu.address);
    if (!engines) {
      // i915 has no such count; the collector of the engines of xe is off.
      return out.absent(kEngines, {gpu.driver == Driver::xe ? Reason::disabled : Reason::kernel}, gpu.address);
    }
    if (!engines->counted) {
      if (engines->counted.is_absent()) out.absent(kEngines, engines->counted.absent(), gpu.address);
      return;  // collector engines reports the failure
    }
    out.available(kEngines, gpu.address);
    for (const VfEngineTime& time : engines->times) {
      const bool exists =
          std::ranges::any_of(device.functions, [&](const VfDevice& function) { return function.number == time.vf; });
      if (!exists) continue;
      const std::string vf = std::to_string(time.vf);
      out.add(kSriovBusy, {gpu.address, vf, time.gt, time.engine, time.engine_class},
              Seconds{static_cast<double>(time.nanoseconds) / 1e9});
      if (time.ratio) out.add(kSriovBusyRatio, {gpu.address, vf, time.gt, time.engine, time.engine_class}, *time.ratio);
    }
  }

  void write_adverse_events(const Gpu& gpu, Device& device, SampleSink& out) {
    const auto read = device.adverse.read();
    if (read.is_absent()) return out.absent(kSriovEvents, read.absent(), gpu.address);
    if (!read) return out.failed(read.failure());
    out.available(kSriovEvents, gpu.address);
    AdverseCounters& counters = adverse_counters_[gpu.address];
    for (const VfDevice& function : device.functions) {
      std::map<std::string_view, std::uint64_t> counts;  // a function without events has no line
      for (const std::string_view kind : kAdverseKinds) counts[kind] = 0;
      for (const VfAdverseEvents& events : *read)
        if (events.vf == function.number)
          for (const VfAdverseEvents::Count& count : events.counts) counts[count.kind] = count.events;
      const std::string vf = std::to_string(function.number);
      for (const auto& [kind, events] : counts) {
        const std::uint64_t sum = counters[{function.number, std::string(kind)}].advance(events);
        out.add(kAdverse, {gpu.address, vf, kind}, count_of(sum));
      }
    }
  }

  void write_info(const Gpu& gpu, const Device& device, SampleSink& out) {
    bool all_known = true;
    for (const VfDevice& function : device.functions) {
      const std::string_view workload = workload_of(function);
      all_known = all_known && (!workload.empty() || !is_held_by_vfio(function));
      out.add(kVfInfo,
              {gpu.address, std::to_string(function.number), function.address,
               function.driver.empty() ? std::string_view("none") : std::string_view(function.driver), workload},
              Count{1});
    }
    const auto& hidden = holders_.why_hidden();
    if (all_known || !hidden) {
      out.available(kHolders, gpu.address);
    } else {
      out.absent(hidden->os_error == EPERM ? kHoldersByLink : kHolders, *hidden, gpu.address);
    }
  }

  // A machine's name does not change, so it is built once. That of a container or a pod may be found later.
  std::string_view workload_of(const VfDevice& function) {
    const VfioHolders::Holder* const holder = holders_.holder_of(function.address);
    if (holder == nullptr) return {};
    NamedHolder& named = named_[function.address];
    const ClientProcess& process = holder->process;
    const bool is_final = process.container_id.empty() && process.pod_uid.empty();
    if (!is_final || named.serial != holder->serial)
      named = {holder->serial, naming_.labels_of(process, machine_.proc).workload};
    return named.workload;
  }

  Machine& machine_;
  std::shared_ptr<WorkloadRuleSource> rules_;
  std::optional<ContainerNames> names_;
  WorkloadNaming naming_;
  std::shared_ptr<const WorkloadRules> current_rules_;
  VfioHolders holders_;
  std::map<std::string, NamedHolder, std::less<>> named_;    // by PCI address of the function
  std::map<std::string, Device> devices_;                    // by PCI address
  std::map<std::string, AdverseCounters> adverse_counters_;  // by PCI address
};

}  // namespace

CollectorEntry sriov_collector() { return entry<SriovCollector>(); }

}  // namespace igpu
