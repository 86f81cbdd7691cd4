// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "collector/collector.h"
#include "collector/shared/shared_options.h"
#include "kernel/clients/drm_descriptor.h"
#include "run/machine_parts.h"
#include "run/registry.h"

namespace igpu {
namespace {

std::string why_no_bpf(const Absent& absent) {
  switch (absent.reason) {
    case Reason::disabled: return "bpf: this program was built without BPF; use auto or walk";
    case Reason::permission: return "bpf: the kernel denies BPF programs: give it CAP_BPF and CAP_PERFMON, or use auto";
    default:
      return "bpf: this kernel does not run the programs: use auto, or a kernel (6.1 or newer) with "
             "CONFIG_DEBUG_INFO_BTF, and the host's PID namespace";
  }
}

bool is_needed(const MonitorOptions& options, EarlyPart part) {
  const auto& all = all_collectors();
  return std::ranges::any_of(all, [&](const CollectorEntry& entry) {
    return std::ranges::count(entry.info->opened_early, part) > 0 && is_enabled(*entry.info, options);
  });
}

// Both drivers: which GPUs there are is not known yet. A driver that is not loaded costs nothing.
std::unique_ptr<JobCounterSource> open_job_counters_of_machine(bool all_classes) {
  const Nanoseconds now = system_clock()->now();
  std::unique_ptr<JobCounterSource> counters = std::make_unique<JobCountersOnDemand>(all_classes);
  for (const JobDriver driver : {JobDriver::drm_sched, JobDriver::i915}) static_cast<void>(counters->get(driver, now));
  return counters;
}

template <class T>
EarlyAccess::Part<T> for_good(EarlyAccess::Part<T> opened) {
  if (opened.is_failure()) return Absent{Reason::kernel, opened.failure().code.value()};
  return opened;
}

// Of the machine whose sysfs is read: a copied tree has none of them.
void open_fault_channels(const MonitorOptions& options, EarlyAccess& early) {
  if (!is_sysfs(options.sysfs_root)) return;
  early.uevents = for_good(open_uevents(system_privileges()->in_initial_user_namespace()));
  add_kernel_log(options, early);
  // The programs keep xe from being unloaded, as those of the collector `jobs` keep its scheduler.
  early.queue_faults = Absent{Reason::disabled, ENOENT};  // by that collector, not by this one
  if (!is_needed(options, EarlyPart::job_counters)) return;
  std::unique_ptr<QueueFaultSource> faults = std::make_unique<QueueFaultsOnDemand>();
  static_cast<void>(faults->get(system_clock()->now()));
  early.queue_faults = std::move(faults);
}

template <class T>
Reading<T*> lent(const EarlyAccess::Part<T>& part) {
  return part.map([](const std::unique_ptr<T>& opened) { return opened.get(); });
}

}  // namespace

void EarlyAccess::lend_to(Machine& machine) const {
  machine.drm_users = lent(drm_users);
  machine.job_counters = lent(job_counters);
  machine.queue_faults = lent(queue_faults);
  machine.uevents = lent(uevents);
  machine.output_uevents = lent(output_uevents);
  machine.kernel_log = lent(kernel_log);
}

// That of the same /dev.
void add_kernel_log(const MonitorOptions& options, EarlyAccess& early) {
  if (early.kernel_log || !options.simulate.empty() || !is_sysfs(options.sysfs_root)) return;
  early.kernel_log = for_good(open_kernel_log(options.devfs_root + "/kmsg"));
}

std::shared_ptr<EarlyAccess> open_early(const MonitorOptions& options) {
  auto early = std::make_shared<EarlyAccess>();
  if (options.simulate.empty() && is_needed(options, EarlyPart::job_counters))
    early->job_counters = open_job_counters_of_machine(is_needed(options, EarlyPart::job_counters_of_all_classes));
  if (options.simulate.empty() && is_needed(options, EarlyPart::fault_channels)) open_fault_channels(options, *early);
  if (options.simulate.empty() && is_needed(options, EarlyPart::output_uevents) && is_sysfs(options.sysfs_root))
    early->output_uevents = for_good(open_uevents(system_privileges()->in_initial_user_namespace()));
  static constexpr std::array<const OptionDescriptor*, 1> kOptions{&kFinder};
  const FinderChoice choice = OptionValues(kOptions, options.collector_options)[kFinder];
  if (!reads_processes(options)) return early;
  if (choice == FinderChoice::walk) {
    early->drm_users = Absent{Reason::disabled, ENOENT};  // by this flag
    return early;
  }
  if (!is_procfs(options.procfs_root)) {
    if (choice == FinderChoice::bpf)
      throw OptionError(std::string(kFinder.flag()),
                        "bpf: " + options.procfs_root + " is not a kernel's /proc; use auto or walk");
    return early;
  }
  early->drm_users = for_good(open_device_users({kDrmMajor, kAccelMajor}, options.procfs_root));
  if (!early->drm_users && choice == FinderChoice::bpf)
    throw OptionError(std::string(kFinder.flag()), why_no_bpf(early->drm_users.absent()));
  return early;
}

}  // namespace igpu
