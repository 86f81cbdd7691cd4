// SPDX-License-Identifier: Apache-2.0
#include "registry/advice.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/scan.h"
#include "machine/linux_errors.h"

namespace igpu {
namespace {

// Levels that distributions added above mainline's 2: Debian denies everything at 3 to all without CAP_SYS_ADMIN,
// Ubuntu at 4 to all without CAP_PERFMON.
constexpr int kDebianLevel = 3;

Advice perf_advice(const Absent& absent, const PermissionFacts& facts) {
  if (absent.os_error == EPERM || absent.os_error == ENOSYS) {
    return {std::string("perf_event_open was blocked before it reached the kernel's own check (") +
                (absent.os_error == EPERM ? "EPERM" : "ENOSYS") + "): a seccomp profile",
            "give the container CAP_PERFMON with a runtime whose default profile then allows perf_event_open "
            "(Docker 23.0, containerd 1.6.10 or newer: --cap-add PERFMON), or run it with a seccomp profile that "
            "allows perf_event_open" +
                std::string(facts.in_user_namespace
                                ? "; and, as it is in a user namespace, sysctl kernel.perf_event_paranoid=0 on the host"
                                : "")};
  }
  const std::string level = facts.perf_event_paranoid ? std::to_string(*facts.perf_event_paranoid) : "unknown";
  const std::string refused = "perf_event_open was refused (EACCES): kernel.perf_event_paranoid is " + level;
  if (facts.in_user_namespace) {
    return {refused + " and this process is in a user namespace, whose capabilities do not count here",
            "run it outside user namespaces (no rootless container, --userns=host), or sysctl "
            "kernel.perf_event_paranoid=0 on the host"};
  }
  const bool beyond_mainline = facts.perf_event_paranoid && *facts.perf_event_paranoid >= kDebianLevel;
  if (facts.has_perfmon && beyond_mainline) {
    return {refused + " and this process has CAP_PERFMON, which is not enough at that level",
            "sysctl kernel.perf_event_paranoid=2 (Debian's level 3 admits CAP_SYS_ADMIN only; from 2 downwards "
            "CAP_PERFMON is enough)"};
  }
  if (facts.has_perfmon) {
    return {refused + " and this process has CAP_PERFMON: a security module refuses",
            "let it allow this process perf_event (SELinux: ausearch -m avc names the rule)"};
  }
  const std::string cause = refused + " and this process has no CAP_PERFMON";
  if (beyond_mainline) {
    return {cause,
            "give it CAP_PERFMON (setcap cap_perfmon+ep, AmbientCapabilities=CAP_PERFMON, --cap-add PERFMON) and, on "
            "Debian, "
            "sysctl kernel.perf_event_paranoid=2 as well (its level 3 admits CAP_SYS_ADMIN only)"};
  }
  return {cause,
          "give it CAP_PERFMON (setcap cap_perfmon+ep, AmbientCapabilities=CAP_PERFMON, --cap-add PERFMON) or sysctl "
          "kernel.perf_event_paranoid=0"};
}

Advice processes_advice(const Absent& absent, const PermissionFacts& facts) {
  const std::string capability =
      "CAP_SYS_PTRACE (setcap cap_sys_ptrace+ep, AmbientCapabilities=CAP_SYS_PTRACE, --cap-add SYS_PTRACE)";
  if (absent.os_error == ENOENT) {
    return {"/proc does not show the host's processes: it is that of another PID namespace, or mounted with hidepid",
            "run the container in the host's PID namespace (--pid host, hostPID: true)" +
                (facts.has_ptrace ? std::string() : "; with it, or where hidepid hides them, give it " + capability)};
  }
  const std::string refused = "no permission to read fdinfo of other users' processes";
  if (facts.in_user_namespace) {
    return {refused + ": this process is in a user namespace, whose capabilities do not count for processes outside it",
            "run it outside user namespaces (no rootless container, --userns=host), with CAP_SYS_PTRACE"};
  }
  if (facts.has_ptrace) {
    return {refused +
                " although this process has CAP_SYS_PTRACE: a security module refuses, or they are outside its user "
                "namespace",
            "run it without that confinement (AppArmor: --security-opt apparmor=unconfined, appArmorProfile: {type: "
            "Unconfined}; "
            "SELinux: --security-opt label=disable; dmesg names what refused), and in the host's user namespace"};
  }
  return {refused,
          "give it " + capability + "; a container also needs the host's PID namespace (--pid host, hostPID: true)"};
}

Advice links_advice() {
  return {
      "a GPU sleeps: reading its clients' fdinfo would wake it, and there is no permission to read /proc/PID/fd, which "
      "shows the open files of a process",
      "give it CAP_DAC_READ_SEARCH beside CAP_SYS_PTRACE (setcap cap_sys_ptrace,cap_dac_read_search+ep, "
      "AmbientCapabilities=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH, --cap-add DAC_READ_SEARCH); without it, they are known "
      "again when that GPU wakes"};
}

Advice no_tracker_folder() {
  return {"the tracker of Level Zero programs is not set up: its folder does not exist",
          "create the folder (docs/level-zero.md)"};
}

Advice container_files_advice(const Absent& absent) {
  if (absent.os_error == EACCES) {
    return {"the container engine's state files are readable by root only",
            "give it CAP_DAC_READ_SEARCH (setcap cap_dac_read_search+ep, AmbientCapabilities=CAP_DAC_READ_SEARCH, "
            "--cap-add DAC_READ_SEARCH), or group by rules (--workload.rules)"};
  }
  return {
      "the host has no file that names a pod or container in use: its file system is not visible here, or the "
      "container engine keeps no such file",
      "in a container mount the host's /var/log/pods and /var/log/containers (Docker: /var/lib/docker/containers, "
      "Podman: /var/lib/containers/storage) read-only below one folder, and set --path.rootfs to it"};
}

Advice uevents_advice(const Absent& absent) {
  if (absent.os_error == EUSERS)
    return {"the kernel sends its uevents to network namespaces of the host's user namespace only",
            "run it outside user namespaces (no rootless container, --userns=host, hostUsers: true)"};
  return {"a netlink socket was denied",
          "allow address family AF_NETLINK (RestrictAddressFamilies=, the container's seccomp profile)"};
}

Advice kernel_log_advice(const Absent& absent) {
  constexpr std::string_view kContainer = "in a container --device /dev/kmsg:/dev/kmsg:r --cap-add SYSLOG";
  if (absent.os_error == ENOENT)
    return {"the kernel log /dev/kmsg was not passed to this container", std::string(kContainer)};
  return {"the kernel log can be read with CAP_SYSLOG only (kernel.dmesg_restrict=1)",
          "give it CAP_SYSLOG, which it drops once the log is open (setcap cap_syslog+ep; in the unit the drop-in of "
          "docs/install-debian.md), and read permission for /dev/kmsg; " +
              std::string(kContainer)};
}

Advice permission_advice(const FeatureDescriptor& feature, const Absent& absent, const PermissionFacts& facts) {
  switch (feature.need) {
    case Need::perf_events:
    case Need::awake_event:
    case Need::rapl_pmu:
    case Need::imc_pmu:
      return perf_advice(absent, facts);
    case Need::render_node:
      if (absent.os_error == ENOENT) {
        return {"the render node that the kernel names is not in /dev/dri: it was not passed to this container",
                "pass it the device and its group (--device /dev/dri --group-add $(stat -c %g /dev/dri/renderD128))"};
      }
      return {"no permission to open the render node",
              "add the user to group render (usermod -aG render USER, SupplementaryGroups=render); in a container pass "
              "the device and its group (--device /dev/dri --group-add $(stat -c %g /dev/dri/renderD128))"};
    case Need::other_processes:
      return processes_advice(absent, facts);
    case Need::client_finder:
      return {
          "BPF programs are denied",
          "give it CAP_BPF and CAP_PERFMON (setcap cap_bpf,cap_perfmon+ep, AmbientCapabilities=CAP_BPF CAP_PERFMON, "
          "--cap-add BPF --cap-add PERFMON); a container also needs a seccomp profile that allows bpf"};
    case Need::job_events:
    case Need::hang_events:
      return {
          "BPF programs are denied",
          "start it with CAP_BPF and CAP_PERFMON, which it drops once the programs run (setcap cap_bpf,cap_perfmon+ep, "
          "AmbientCapabilities=CAP_BPF CAP_PERFMON, --cap-add BPF --cap-add PERFMON); a container also needs a seccomp "
          "profile that allows bpf"};
    case Need::descriptor_links:
      if (absent.os_error != EPERM) return links_advice();
      return {"before Linux 6.18 only the links of /proc/PID/fd show who holds a VFIO group, and they are denied",
              "give it CAP_DAC_READ_SEARCH beside CAP_SYS_PTRACE (setcap cap_sys_ptrace,cap_dac_read_search+ep, "
              "AmbientCapabilities=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH, --cap-add DAC_READ_SEARCH)"};
    case Need::perfmon_capability:
      if (facts.in_user_namespace) {
        return {"the driver reports this only with CAP_PERFMON of the initial user namespace",
                "run it outside user namespaces (no rootless container, --userns=host), with CAP_PERFMON"};
      }
      return {"the driver reports this only with CAP_PERFMON",
              "give it CAP_PERFMON (setcap cap_perfmon+ep, AmbientCapabilities=CAP_PERFMON, --cap-add PERFMON)"};
    case Need::powercap_file:
    case Need::root_only_file:
      return {"the file is readable by root only",
              "run as root, or give it CAP_DAC_READ_SEARCH (setcap cap_dac_read_search+ep, --cap-add DAC_READ_SEARCH)"};
    case Need::tracker_folder:
      return {"the folder of the tracker's pages can be listed by its group only",
              "start the exporter with that group (docs/level-zero.md): SupplementaryGroups=, --group-add"};
    case Need::uevents:
      return uevents_advice(absent);
    case Need::kernel_log:
      return kernel_log_advice(absent);
    case Need::container_files:
      return container_files_advice(absent);
    case Need::windows_rights:
      if (absent.os_error == EPERM)  // machine/pdh_status.h
        return {"Windows refused its performance counters", "add the exporter's user to Performance Monitor Users"};
      if (absent.os_error == EROFS)  // machine/ze_result.h
        return {"the graphics driver's Sysman refused this to the user of the exporter", "run it as an administrator"};
      return {"Windows lets it open processes of its own user only", "run it as the user whose processes these are"};
    case Need::card_hwmon:
    case Need::nothing_special:
      break;
  }
  return {"no permission to read a file",
          "check the permissions of the mounted /sys (a read-only bind mount is enough)"};
}

// gpu: null for what belongs to the machine.
const KernelAbsence* absence_of(const FeatureDescriptor& feature, const Absent& absent, const Gpu* gpu) {
  const auto row = std::ranges::find_if(feature.kernel_absences, [&](const KernelAbsence& it) {
    return (!it.driver || (gpu && it.driver == gpu->driver)) && (!it.kind || (gpu && it.kind == gpu->kind)) &&
           (it.os_error == 0 || it.os_error == absent.os_error);
  });
  return row == feature.kernel_absences.end() ? nullptr : &*row;
}

Advice kernel_advice(const FeatureDescriptor& feature, const Absent& absent, const Gpu* gpu) {
  if (const KernelAbsence* row = absence_of(feature, absent, gpu))
    return {std::string(row->cause), std::string(row->hint)};
  switch (feature.need) {
    case Need::perf_events:
      return {"this kernel's driver does not offer the PMU or the events (ENOENT/ENODEV)",
              "a newer kernel: the PMU came with 4.16 for i915, with 6.15 to 6.17 for xe"};
    case Need::awake_event:
      return {"this kernel's driver does not offer the event software-gt-awake-time",
              "a newer kernel: i915 offers it in 5.15 and newer"};
    case Need::rapl_pmu:
    case Need::powercap_file:
      return {"this kernel offers neither the PMU power nor an energy zone in /sys/class/powercap",
              "modprobe -a rapl intel_rapl_msr; a virtual machine has neither"};
    case Need::imc_pmu:
      return {"this kernel offers no PMU of the memory controllers (uncore_imc*) with the events",
              "modprobe intel_uncore, or a newer kernel that knows this processor; a virtual machine has none"};
    case Need::other_processes:
      return {"/proc cannot be read here: it is not mounted, or --path.procfs names another folder",
              "mount procfs, or set --path.procfs to where it is mounted"};
    case Need::card_hwmon:
      return {"this kernel's driver offers no energy counter of the card in hwmon",
              "a newer kernel with CONFIG_HWMON: it came with 6.2 for i915, with 6.8 for xe"};
    case Need::client_finder:
      if (absent.os_error == EOPNOTSUPP)
        return {
            "this kernel lists GPU clients by BPF, but does not report new ones (kernel.ftrace_enabled=0, or no "
            "CONFIG_FUNCTION_TRACER)",
            "sysctl kernel.ftrace_enabled=1, or --collector.fdinfo.interval=1s"};
      return {"this kernel does not run the BPF programs, or the exporter has a PID namespace of its own",
              "Linux 6.1 or newer with CONFIG_DEBUG_INFO_BTF; in a container the host's PID namespace (--pid host, "
              "hostPID: true)"};
    case Need::job_events:
    case Need::hang_events:
      if (absent.os_error == ENODATA && feature.need == Need::hang_events) {
        return {
            "this kernel does not describe its structures (/sys/kernel/btf, and xe in it), or its xe has not the "
            "tracepoints of queues that the programs read",
            "a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_DEBUG_INFO_BTF_MODULES, Linux 6.8 or newer; the kernel "
            "log reports the hangs, too"};
      }
      if (absent.os_error == ENODATA) {
        return {"this kernel does not describe its structures: /sys/kernel/btf does not exist",
                "a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_DEBUG_INFO_BTF_MODULES"};
      }
      if (absent.os_error == ENOENT && feature.need == Need::hang_events) {
        return {"the module xe was not loaded when the exporter started",
                "restart the exporter after the driver is loaded"};
      }
      if (absent.os_error == ENOENT) {
        return {
            "the driver's module (i915, or gpu_sched for xe) was not loaded when the exporter started, or has no "
            "tracepoints of jobs",
            "restart the exporter after the driver is loaded"};
      }
      return {"this kernel does not run the BPF programs", "Linux 6.1 or newer with CONFIG_BPF_SYSCALL"};
    case Need::uevents:
      return {"this kernel sends no uevents", "a kernel with CONFIG_NET"};
    case Need::kernel_log:
      return {"this kernel has no /dev/kmsg", "a kernel with CONFIG_PRINTK"};
    default:
      return {"this kernel's driver does not offer it", "a newer kernel, if the hardware supports it"};
  }
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
      if (feature.need == Need::windows_rights) return permission_advice(feature, absent, {});
      return {"Windows denied this to the user of the exporter", "run it as an administrator"};
    case Reason::disabled:
      if (absent.os_error == 0) return {"turned off by a flag", "--collector.NAME"};
      break;
    case Reason::hardware:
      return {feature.machine_wide ? "this machine does not have it" : "this GPU does not have it", ""};
    case Reason::kernel:
    case Reason::suspended:
      break;
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
  switch (absent.reason) {
    case Reason::permission:
      return permission_advice(feature, absent, facts);
    case Reason::kernel:
      return kernel_advice(feature, absent, gpu);
    case Reason::hardware:
      if (feature.need == Need::uevents || feature.need == Need::kernel_log || feature.need == Need::hang_events)
        return {"messages of the kernel belong to the running machine: a capture or a copied tree has none", ""};
      if (gpu && gpu->virtual_function) return {"a virtual function does not have it; it is read on the host", ""};
      return {feature.machine_wide ? "this machine does not have it" : "this GPU does not have it", ""};
    case Reason::suspended:
      if (feature.need == Need::descriptor_links) return links_advice();
      return {"the GPU is runtime-suspended, or about to be, and is not woken to be read", ""};
    case Reason::disabled:
      if (const KernelAbsence* row = absence_of(feature, absent, gpu); row && row->os_error != 0)
        return {std::string(row->cause), std::string(row->hint)};
      if (feature.need == Need::tracker_folder && absent.os_error != 0) return no_tracker_folder();
      if (absent.os_error == ENOSYS && (feature.need == Need::client_finder || feature.need == Need::job_events ||
                                        feature.need == Need::hang_events)) {
        return {"this program was built without BPF",
                "build it with clang and libbpf installed, and not with IGPU_BPF=OFF"};
      }
      // With an errno something else than the collector is off.
      if (absent.os_error == ENOENT && feature.need == Need::client_finder)
        return {"turned off by --collector.fdinfo.finder=walk", "--collector.fdinfo.finder=auto"};
      if (absent.os_error == EPERM)
        return {"somebody wrote 1 to /sys/class/devcoredump/disabled, which turns them off until the next boot",
                "boot again"};
      if (absent.os_error == ENOENT && feature.need == Need::hang_events)
        return {"they belong to the collector jobs, which is off", "--collector.jobs, with CAP_BPF and CAP_PERFMON"};
      return {"turned off by a flag", "--collector.NAME"};
  }
  return {};
}

}  // namespace igpu
