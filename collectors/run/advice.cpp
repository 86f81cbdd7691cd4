// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "base/scan.h"
#include "igpu/feature.h"
#include "machine/linux_errors.h"
#include "run/findings.h"

namespace igpu {
namespace {

constexpr std::uint32_t bit(Need need) { return std::uint32_t{1} << static_cast<unsigned>(need); }
constexpr std::uint32_t kAnyNeed = ~std::uint32_t{0};
constexpr std::uint32_t kPerf =
    bit(Need::perf_events) | bit(Need::awake_event) | bit(Need::rapl_pmu) | bit(Need::imc_pmu);
constexpr std::uint32_t kJobs = bit(Need::job_events) | bit(Need::hang_events);
constexpr std::uint32_t kBpf = kJobs | bit(Need::client_finder);

using Facts = const PermissionFacts&;
bool in_namespace(Facts facts) { return facts.in_user_namespace; }
bool has_perfmon(Facts facts) { return facts.has_perfmon; }
bool has_ptrace(Facts facts) { return facts.has_ptrace; }
// Distributions added levels above mainline's 2: Debian denies everything at 3 to all without CAP_SYS_ADMIN, Ubuntu at
// 4 to all without CAP_PERFMON.
bool beyond_mainline(Facts facts) { return facts.perf_event_paranoid.value_or(0) > 2; }
bool perfmon_below_level(Facts facts) { return has_perfmon(facts) && beyond_mainline(facts); }

struct Row {
  Reason reason;
  std::uint32_t needs;
  int os_error;         // 0: any
  bool (*when)(Facts);  // null: always
  std::string_view cause, hint;
  Rights rights = Rights::none;
  std::string_view command = {};
};

constexpr std::string_view kRefused =
    "perf_event_open was refused (EACCES): kernel.perf_event_paranoid is {level} and this process ";
constexpr std::string_view kBlocked =
    "perf_event_open was blocked before it reached the kernel's own check ({error}): a seccomp profile";
constexpr std::string_view kAllowedPerf =
    "CAP_PERFMON, with a runtime whose seccomp profile then allows perf_event_open: Docker 23.0, containerd 1.6.10 or "
    "newer";
constexpr std::string_view kSleeps =
    "a GPU sleeps: reading its clients' fdinfo would wake it, and there is no permission to read /proc/PID/fd, which "
    "shows the open files of a process";
constexpr std::string_view kLinks = "CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE";
constexpr Rights kLinkRights = Rights::dac_read_search | Rights::sys_ptrace;
constexpr std::string_view kOtherUsers = "no permission to read fdinfo of other users' processes";

// What each need lacks, by what the kernel answered: the first row that fits. The commands that grant the rights depend
// on the place and are the exporter's (server/doctor/place.cpp).
constexpr Row kRows[] = {
    {Reason::permission, kPerf, EPERM, in_namespace, kBlocked,
     "kernel.perf_event_paranoid=0 on the host, and a seccomp profile that allows perf_event_open", Rights::perfmon},
    {Reason::permission, kPerf, ENOSYS, in_namespace, kBlocked,
     "kernel.perf_event_paranoid=0 on the host, and a seccomp profile that allows perf_event_open", Rights::perfmon},
    {Reason::permission, kPerf, EPERM, nullptr, kBlocked, kAllowedPerf, Rights::perfmon},
    {Reason::permission, kPerf, ENOSYS, nullptr, kBlocked, kAllowedPerf, Rights::perfmon},
    {Reason::permission, kPerf, 0, in_namespace,
     "{refused}is in a user namespace, whose capabilities do not count here",
     "CAP_PERFMON in the host's user namespace, or kernel.perf_event_paranoid=0 on the host", Rights::perfmon},
    {Reason::permission, kPerf, 0, perfmon_below_level, "{refused}has CAP_PERFMON, which is not enough at that level",
     "kernel.perf_event_paranoid=2", Rights::perf_level},
    {Reason::permission, kPerf, 0, has_perfmon, "{refused}has CAP_PERFMON: a security module refuses",
     "let it allow this process perf_event (SELinux: ausearch -m avc names the rule)"},
    {Reason::permission, kPerf, 0, beyond_mainline, "{refused}has no CAP_PERFMON",
     "CAP_PERFMON and kernel.perf_event_paranoid=2", Rights::perfmon | Rights::perf_level},
    {Reason::permission, kPerf, 0, nullptr, "{refused}has no CAP_PERFMON", "CAP_PERFMON", Rights::perfmon},
    {Reason::permission, bit(Need::render_node), ENOENT, nullptr,
     "the render node that the kernel names is not in /dev/dri: it was not passed to this container",
     "/dev/dri in the container, and its group", Rights::render_group},
    {Reason::permission, bit(Need::render_node), 0, nullptr, "no permission to open the render node", "group render",
     Rights::render_group},
    {Reason::permission, bit(Need::other_processes), ENOENT, has_ptrace,
     "/proc does not show the host's processes: it is that of another PID namespace, or mounted with hidepid",
     "the host's PID namespace", Rights::host_processes},
    {Reason::permission, bit(Need::other_processes), ENOENT, nullptr,
     "/proc does not show the host's processes: it is that of another PID namespace, or mounted with hidepid",
     "the host's PID namespace and, where hidepid hides them, CAP_SYS_PTRACE",
     Rights::sys_ptrace | Rights::host_processes},
    {Reason::permission, bit(Need::other_processes), 0, in_namespace,
     "{others}: this process is in a user namespace, whose capabilities do not count for processes outside it",
     "CAP_SYS_PTRACE in the host's user namespace", Rights::sys_ptrace | Rights::host_processes},
    {Reason::permission, bit(Need::other_processes), 0, has_ptrace,
     "{others} although this process has CAP_SYS_PTRACE: a security module refuses, or they are outside its user "
     "namespace",
     "a container without that confinement (AppArmor or SELinux; dmesg names what refused), in the host's user "
     "namespace",
     Rights::host_processes},
    {Reason::permission, bit(Need::other_processes), 0, nullptr, "{others}",
     "CAP_SYS_PTRACE and, in a container, the host's PID namespace", Rights::sys_ptrace | Rights::host_processes},
    {Reason::permission, kBpf, 0, nullptr, "BPF programs are denied",
     "CAP_BPF and CAP_PERFMON and, in a container, a seccomp profile that allows bpf", Rights::bpf | Rights::perfmon},
    {Reason::permission, bit(Need::descriptor_links), EPERM, nullptr,
     "before Linux 6.18 only the links of /proc/PID/fd show who holds a VFIO group, and they are denied", kLinks,
     kLinkRights},
    {Reason::permission, bit(Need::descriptor_links), 0, nullptr, kSleeps, kLinks, kLinkRights},
    {Reason::suspended, bit(Need::descriptor_links), 0, nullptr, kSleeps, kLinks, kLinkRights},
    {Reason::permission, bit(Need::perfmon_capability), 0, in_namespace,
     "the driver reports this only with CAP_PERFMON of the initial user namespace",
     "CAP_PERFMON in the host's user namespace", Rights::perfmon},
    {Reason::permission, bit(Need::perfmon_capability), 0, nullptr, "the driver reports this only with CAP_PERFMON",
     "CAP_PERFMON", Rights::perfmon},
    {Reason::permission, bit(Need::powercap_file) | bit(Need::root_only_file), 0, nullptr,
     "the file is readable by root only", "CAP_DAC_READ_SEARCH", Rights::dac_read_search},
    {Reason::permission, bit(Need::tracker_folder), 0, nullptr,
     "the folder of the tracker's pages can be listed by its group only",
     "start the exporter with the folder's group (docs/level-zero.md)"},
    {Reason::permission, bit(Need::uevents), EUSERS, nullptr,
     "the kernel sends its uevents to network namespaces of the host's user namespace only",
     "the host's user namespace", Rights::host_users},
    {Reason::permission, bit(Need::uevents), 0, nullptr, "a netlink socket was denied",
     "allow address family AF_NETLINK (RestrictAddressFamilies=, the container's seccomp profile)"},
    {Reason::permission, bit(Need::kernel_log), ENOENT, nullptr,
     "the kernel log /dev/kmsg was not passed to this container", "/dev/kmsg in the container, and CAP_SYSLOG",
     Rights::syslog},
    {Reason::permission, bit(Need::kernel_log), 0, nullptr,
     "the kernel log can be read with CAP_SYSLOG only (kernel.dmesg_restrict=1)",
     "CAP_SYSLOG, which is dropped once the log is open, and read permission for /dev/kmsg", Rights::syslog},
    {Reason::permission, bit(Need::container_files), EACCES, nullptr,
     "the container engine's state files are readable by root only",
     "CAP_DAC_READ_SEARCH, or group by rules (--workload.rules)", Rights::dac_read_search},
    {Reason::permission, bit(Need::container_files), 0, nullptr,
     "the host has no file that names a pod or container in use: its file system is not visible here, or the container "
     "engine keeps no such file",
     "in a container mount the host's /var/log/pods and /var/log/containers (Docker: /var/lib/docker/containers, "
     "Podman: /var/lib/containers/storage) read-only below one folder, and set --path.rootfs to it"},
    // machine/windows_status.h
    {Reason::permission, bit(Need::windows_rights), EPERM, nullptr, "Windows refused its performance counters",
     "add the exporter's user to Performance Monitor Users"},
    {Reason::permission, bit(Need::windows_rights), 0, nullptr, "Windows lets it open processes of its own user only",
     "run it as the user whose processes these are"},
    {Reason::permission, kAnyNeed, 0, nullptr, "no permission to read a file",
     "check the permissions of the mounted /sys (a read-only bind mount is enough)"},

    {Reason::kernel, bit(Need::rapl_pmu) | bit(Need::powercap_file), 0, nullptr,
     "this kernel offers neither the PMU power nor an energy zone in /sys/class/powercap",
     "the modules rapl and intel_rapl_msr; a virtual machine has neither", Rights::none,
     "sudo modprobe -a rapl intel_rapl_msr"},
    {Reason::kernel, bit(Need::imc_pmu), 0, nullptr,
     "this kernel offers no PMU of the memory controllers (uncore_imc*) with the events",
     "the module intel_uncore, or a newer kernel that knows this processor; a virtual machine has none", Rights::none,
     "sudo modprobe intel_uncore"},
    {Reason::kernel, bit(Need::other_processes), 0, nullptr,
     "/proc cannot be read here: it is not mounted, or --path.procfs names another folder",
     "mount procfs, or set --path.procfs to where it is mounted"},
    {Reason::kernel, bit(Need::client_finder), EOPNOTSUPP, nullptr,
     "this kernel lists GPU clients by BPF, but does not report new ones (kernel.ftrace_enabled=0, or no "
     "CONFIG_FUNCTION_TRACER)",
     "kernel.ftrace_enabled=1, or --collector.fdinfo.interval=1s", Rights::none, "sudo sysctl kernel.ftrace_enabled=1"},
    {Reason::kernel, bit(Need::client_finder), 0, nullptr,
     "this kernel does not run the BPF programs, or the exporter has a PID namespace of its own",
     "Linux 6.1 or newer with CONFIG_DEBUG_INFO_BTF; in a container the host's PID namespace (--pid host, "
     "hostPID: true)"},
    {Reason::kernel, bit(Need::hang_events), ENODATA, nullptr,
     "this kernel does not describe its structures (/sys/kernel/btf, and xe in it), or its xe has not the tracepoints "
     "of queues that the programs read",
     "a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_DEBUG_INFO_BTF_MODULES, Linux 6.8 or newer; the kernel log "
     "reports the hangs, too"},
    {Reason::kernel, bit(Need::job_events), ENODATA, nullptr,
     "this kernel does not describe its structures: /sys/kernel/btf does not exist",
     "a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_DEBUG_INFO_BTF_MODULES"},
    {Reason::kernel, bit(Need::hang_events), ENOENT, nullptr, "the module xe was not loaded when the exporter started",
     "restart the exporter after the driver is loaded"},
    {Reason::kernel, bit(Need::job_events), ENOENT, nullptr,
     "the driver's module (i915, or gpu_sched for xe) was not loaded when the exporter started, or has no tracepoints "
     "of jobs",
     "restart the exporter after the driver is loaded"},
    {Reason::kernel, kJobs, 0, nullptr, "this kernel does not run the BPF programs",
     "Linux 6.1 or newer with CONFIG_BPF_SYSCALL"},
    {Reason::kernel, bit(Need::uevents), 0, nullptr, "this kernel sends no uevents", "a kernel with CONFIG_NET"},
    {Reason::kernel, bit(Need::kernel_log), 0, nullptr, "this kernel has no /dev/kmsg", "a kernel with CONFIG_PRINTK"},
    {Reason::kernel, kAnyNeed, 0, nullptr, "this kernel's driver does not offer it",
     "a newer kernel, if the hardware supports it"},

    {Reason::hardware, bit(Need::uevents) | bit(Need::kernel_log) | bit(Need::hang_events), 0, nullptr,
     "messages of the kernel belong to the running machine: a capture or a copied tree has none", ""},
    {Reason::suspended, kAnyNeed, 0, nullptr,
     "the GPU is asleep (runtime-suspended), or about to be, and is not woken to be read", ""},

    // With an errno something else than the collector is off.
    {Reason::disabled, bit(Need::tracker_folder), 0, nullptr,
     "the tracker of Level Zero programs is not set up: its folder does not exist",
     "create the folder (docs/level-zero.md)"},
    {Reason::disabled, kBpf, ENOSYS, nullptr, "this program was built without BPF",
     "build it with clang and libbpf installed, and not with IGPU_BPF=OFF"},
    {Reason::disabled, bit(Need::client_finder), ENOENT, nullptr, "turned off by --collector.fdinfo.finder=walk",
     "--collector.fdinfo.finder=auto"},
    {Reason::disabled, kAnyNeed, EPERM, nullptr,
     "somebody wrote 1 to /sys/class/devcoredump/disabled, which turns them off until the next boot", "boot again"},
    {Reason::disabled, bit(Need::hang_events), ENOENT, nullptr, "they belong to the collector jobs, which is off",
     "--collector.jobs, with CAP_BPF and CAP_PERFMON"},
};

void replace_word(std::string& text, std::string_view word, std::string_view with) {
  if (const std::size_t at = text.find(word); at != std::string::npos) text.replace(at, word.size(), with);
}

Advice advice_of(const Row& row, const Absent& absent, Facts facts) {
  Advice advice{std::string(row.cause), std::string(row.hint), row.rights, std::string(row.command)};
  replace_word(advice.cause, "{refused}", kRefused);
  replace_word(advice.cause, "{level}",
               facts.perf_event_paranoid ? std::to_string(*facts.perf_event_paranoid) : "unknown");
  replace_word(advice.cause, "{error}", absent.os_error == EPERM ? "EPERM" : "ENOSYS");
  replace_word(advice.cause, "{others}", kOtherUsers);
  return advice;
}

// gpu: null for what belongs to the machine.
const KernelAbsence* absence_of(const FeatureDescriptor& feature, const Absent& absent, const Gpu* gpu) {
  const auto row = std::ranges::find_if(feature.kernel_absences, [&](const KernelAbsence& it) {
    return (!it.driver || (gpu && it.driver == gpu->driver)) && (!it.kind || (gpu && it.kind == gpu->kind)) &&
           (it.os_error == 0 || it.os_error == absent.os_error);
  });
  return row == feature.kernel_absences.end() ? nullptr : &*row;
}

Advice not_in_hardware(const FeatureDescriptor& feature) {
  return {feature.machine_wide ? "this machine does not have it" : "this GPU does not have it", ""};
}

Advice advice_of(const KernelAbsence& row) {
  return {std::string(row.cause), std::string(row.hint), Rights::none, std::string(row.command)};
}

}  // namespace

PermissionFacts permission_facts(Machine& machine) {
  PermissionFacts facts;
  std::array<char, 32> buffer;
  if (const auto text = machine.proc.read("sys/kernel/perf_event_paranoid", buffer))
    facts.perf_event_paranoid = scan_integer<int>(*text);
  facts.has_perfmon = machine.privileges.has_capability(Privileges::kCapPerfmon);
  facts.has_ptrace = machine.privileges.has_capability(Privileges::kCapSysPtrace);
  facts.in_user_namespace = !machine.privileges.in_initial_user_namespace();
  return facts;
}

Advice no_gpu_advice(const Machine& machine, const std::string& sysfs_root) {
  if (machine.adapters)
    return {
        "none of Windows' graphics adapters is Intel's (vendor 8086) and has a running driver",
        "search for it with `Get-PnpDevice -Class Display`; if its status is not OK, install Intel's graphics driver"};
  return {"no PCI device of vendor 0x8086 below " + sysfs_root + "/class/drm has one of these drivers",
          "search for the device with `lspci -nnk -d 8086::0300; lspci -nnk -d 8086::0380`; if it is listed without a "
          "driver: `modprobe i915` or `modprobe xe`; in a container: mount /sys of the host"};
}

std::optional<Absent> absence_while_asleep(const FeatureDescriptor& feature, const Gpu& gpu) {
  if (gpu.driver == Driver::wddm) return Absent{Reason::suspended};
  if (feature.need == Need::windows_rights) return std::nullopt;
  if (feature.need == Need::imc_pmu && gpu.kind == GpuKind::discrete) return Absent{Reason::hardware};
  const KernelAbsence* const row = absence_of(feature, {Reason::kernel}, &gpu);
  const bool is_never = row != nullptr && row->driver == gpu.driver && row->hint.empty();
  return Absent{is_never ? Reason::kernel : Reason::suspended};
}

Advice advise_for_windows(const FeatureDescriptor& feature, const Absent& absent, const Gpu* gpu) {
  switch (absent.reason) {
    case Reason::permission:
      if (feature.need == Need::windows_rights) return advise(feature, absent, {});
      return {"Windows denied this to the user of the exporter", "run it as an administrator"};
    case Reason::disabled:
      if (absent.os_error == 0) return {"turned off by a flag", "--collector.NAME"};
      break;
    case Reason::hardware: return not_in_hardware(feature);
    case Reason::kernel:
    case Reason::suspended: break;
  }
  if (gpu) {
    const auto row = std::ranges::find_if(feature.kernel_absences, [&](const KernelAbsence& it) {
      return it.driver == gpu->driver && (it.os_error == 0 || it.os_error == absent.os_error);
    });
    if (row != feature.kernel_absences.end()) return {std::string(row->cause), std::string(row->hint)};
  }
  return {"Windows does not have what this is read from", ""};
}

Advice advise(const FeatureDescriptor& feature, const Absent& absent, const PermissionFacts& facts, const Gpu* gpu) {
  const bool off = absent.reason == Reason::disabled;
  if (off && absent.os_error == 0) return {"turned off by a flag", "--collector.NAME"};
  if (off || absent.reason == Reason::kernel)
    if (const KernelAbsence* row = absence_of(feature, absent, gpu); row && (!off || row->os_error != 0))
      return advice_of(*row);
  const auto row = std::ranges::find_if(kRows, [&](const Row& it) {
    return it.reason == absent.reason && (it.needs & bit(feature.need)) != 0 &&
           (it.os_error == 0 || it.os_error == absent.os_error) && (it.when == nullptr || it.when(facts));
  });
  if (row != std::end(kRows)) return advice_of(*row, absent, facts);
  if (off) return {"turned off by a flag", "--collector.NAME"};
  if (gpu && gpu->virtual_function) return {"a virtual function does not have it; it is read on the host", ""};
  return not_in_hardware(feature);
}

std::string right_for(const FeatureDescriptor& feature) {
  if (feature.need == Need::windows_rights) return {};
  const Advice advice = advise(feature, {Reason::permission, EACCES}, {});
  return advice.rights == Rights::none ? std::string() : advice.hint;
}

}  // namespace igpu
