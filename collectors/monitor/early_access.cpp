// SPDX-License-Identifier: Apache-2.0
#include "monitor/early_access.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "collector/connectors.h"
#include "collector/health.h"
#include "collector/jobs.h"
#include "collector/shared/shared_options.h"
#include "collector/workloads.h"
#include "source/drm_descriptor.h"

namespace igpu {
namespace {

std::string why_no_bpf(const Absent& absent) {
  switch (absent.reason) {
    case Reason::disabled:
      return "bpf: this program was built without BPF; use auto or walk";
    case Reason::permission:
      return "bpf: the kernel denies BPF programs: give it CAP_BPF and CAP_PERFMON, or use auto";
    default:
      return "bpf: this kernel does not run the programs: use auto, or a kernel (6.1 or newer) with "
             "CONFIG_DEBUG_INFO_BTF, and the host's PID namespace";
  }
}

bool has_collector(const MonitorOptions& options, std::string_view name) {
  const std::vector<CollectorDescription> collectors = describe_collectors(options);
  return std::any_of(collectors.begin(), collectors.end(),
                     [name](const CollectorDescription& collector) { return collector.name == name; });
}

// Both drivers: which GPUs there are is not known yet. A driver that is not loaded costs nothing.
std::unique_ptr<JobCounterSource> open_job_counters_of_machine(bool all_classes) {
  const Nanoseconds now = system_clock()->now();
  auto counters = std::make_unique<JobCountersOnDemand>(all_classes);
  for (const JobDriver driver : {JobDriver::drm_sched, JobDriver::i915}) static_cast<void>(counters->get(driver, now));
  return counters;
}

void keep(Reading<std::unique_ptr<KernelMessages>> opened, std::unique_ptr<KernelMessages>& messages, Absent& why) {
  if (opened) {
    messages = *std::move(opened);
  } else {
    why = opened.is_absent() ? opened.absent() : Absent{Reason::kernel, opened.failure().code.value()};
  }
}

// Of the machine whose sysfs is read: a copied tree has none of them.
void open_fault_channels(const MonitorOptions& options, EarlyAccess& early) {
  if (!is_sysfs(options.sysfs_root)) return;
  keep(open_uevents(system_privileges()->in_initial_user_namespace()), early.uevents, early.why_no_uevents);
  add_kernel_log(options, early);
  // The programs keep xe from being unloaded, as those of the collector `jobs` keep its scheduler.
  early.why_no_queue_faults = {Reason::disabled, ENOENT};  // by that collector, not by this one
  if (!has_collector(options, JobsCollector::kInfo.name)) return;
  early.queue_faults = std::make_unique<QueueFaultsOnDemand>();
  static_cast<void>(early.queue_faults->get(system_clock()->now()));
}

}  // namespace

// That of the same /dev.
void add_kernel_log(const MonitorOptions& options, EarlyAccess& early) {
  if (early.kernel_log || !options.simulate.empty() || !is_sysfs(options.sysfs_root)) return;
  keep(open_kernel_log(options.devfs_root + "/kmsg"), early.kernel_log, early.why_no_kernel_log);
}

std::shared_ptr<EarlyAccess> open_early(const MonitorOptions& options) {
  auto early = std::make_shared<EarlyAccess>();
  if (options.simulate.empty() && has_collector(options, JobsCollector::kInfo.name))
    early->job_counters = open_job_counters_of_machine(has_collector(options, WorkloadsCollector::kInfo.name));
  if (options.simulate.empty() && has_collector(options, HealthCollector::kInfo.name))
    open_fault_channels(options, *early);
  if (options.simulate.empty() && has_collector(options, ConnectorsCollector::kInfo.name) &&
      is_sysfs(options.sysfs_root))
    keep(open_uevents(system_privileges()->in_initial_user_namespace()), early->output_uevents,
         early->why_no_output_uevents);
  static constexpr std::array<const OptionDescriptor*, 1> kOptions{&kFinder};
  const FinderChoice choice = OptionValues(kOptions, options.collector_options)[kFinder];
  if (!reads_processes(options)) return early;
  if (choice == FinderChoice::walk) {
    early->why_no_drm_users = Absent{Reason::disabled, ENOENT};  // by this flag
    return early;
  }
  if (!is_procfs(options.procfs_root)) {
    if (choice == FinderChoice::bpf)
      throw OptionError(std::string(kFinder.flag()),
                        "bpf: " + options.procfs_root + " is not a kernel's /proc; use auto or walk");
    return early;
  }
  Reading<std::unique_ptr<DeviceUsers>> users = open_device_users({kDrmMajor, kAccelMajor}, options.procfs_root);
  if (users) {
    early->drm_users = *std::move(users);
  } else {
    early->why_no_drm_users = users.is_absent() ? users.absent() : Absent{Reason::kernel, EINVAL};
    if (choice == FinderChoice::bpf)
      throw OptionError(std::string(kFinder.flag()), why_no_bpf(*early->why_no_drm_users));
  }
  return early;
}

}  // namespace igpu
