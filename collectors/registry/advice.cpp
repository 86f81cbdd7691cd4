// SPDX-License-Identifier: Apache-2.0
#include "registry/advice.h"

#include <array>
#include <cerrno>

#include "base/scan.h"

namespace igpu {
namespace {

// Levels that distributions added above mainline's 2: Debian denies everything at 3 to all without CAP_SYS_ADMIN,
// Ubuntu at 4 to all without CAP_PERFMON.
constexpr int kDebianLevel = 3;

Advice perf_advice(const Absent& absent, const PermissionFacts& facts) {
  if (absent.os_error == EPERM) {
    return {"perf_event_open was blocked before it reached the kernel's own check (EPERM): a seccomp profile",
            "give the container CAP_PERFMON with a runtime whose default profile then allows perf_event_open "
            "(Docker 23.0, containerd 1.6.10 or newer: --cap-add PERFMON), or run it with a seccomp profile that "
            "allows perf_event_open"};
  }
  const std::string level = facts.perf_event_paranoid ? std::to_string(*facts.perf_event_paranoid) : "unknown";
  const std::string cause = "perf_event_open was refused (EACCES): kernel.perf_event_paranoid is " + level + " and this process has " +
                            (facts.has_perfmon ? "CAP_PERFMON, which is not enough at that level" : "no CAP_PERFMON");
  const bool beyond_mainline = facts.perf_event_paranoid && *facts.perf_event_paranoid >= kDebianLevel;
  if (facts.has_perfmon && beyond_mainline) {
    return {cause, "sysctl kernel.perf_event_paranoid=2 (Debian's level 3 admits CAP_SYS_ADMIN only; from 2 downwards CAP_PERFMON is enough)"};
  }
  if (facts.has_perfmon) {
    return {cause, "run it outside user namespaces: capabilities count only in the initial one; or sysctl kernel.perf_event_paranoid=0"};
  }
  if (beyond_mainline) {
    return {cause,
            "give it CAP_PERFMON (setcap cap_perfmon+ep, AmbientCapabilities=CAP_PERFMON, --cap-add PERFMON) and, on Debian, "
            "sysctl kernel.perf_event_paranoid=2 as well (its level 3 admits CAP_SYS_ADMIN only)"};
  }
  return {cause,
          "give it CAP_PERFMON (setcap cap_perfmon+ep, AmbientCapabilities=CAP_PERFMON, --cap-add PERFMON) or sysctl "
          "kernel.perf_event_paranoid=0"};
}

Advice permission_advice(const FeatureDescriptor& feature, const Absent& absent, const PermissionFacts& facts) {
  switch (feature.need) {
    case Need::perf_events: return perf_advice(absent, facts);
    case Need::render_node:
      return {"the render node may not be opened",
              "add the user to group render (usermod -aG render USER, SupplementaryGroups=render); in a container pass "
              "the device and its group (--device /dev/dri --group-add $(stat -c %g /dev/dri/renderD128))"};
    case Need::other_processes:
      return {"fdinfo of other users' processes may not be read",
              "give it CAP_SYS_PTRACE (setcap cap_sys_ptrace+ep, AmbientCapabilities=CAP_SYS_PTRACE, --cap-add SYS_PTRACE); "
              "a container also needs the host's PID namespace (--pid host, hostPID: true)"};
    case Need::descriptor_links:
      return {"a GPU sleeps, reading its clients' fdinfo would wake it, and /proc/PID/fd, which tells whose file is whose, may not be read",
              "give it CAP_DAC_READ_SEARCH beside CAP_SYS_PTRACE (setcap cap_sys_ptrace,cap_dac_read_search+ep, "
              "AmbientCapabilities=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH, --cap-add DAC_READ_SEARCH); it is known again when that GPU wakes"};
    case Need::perfmon_capability:
      return {"the driver tells this only to CAP_PERFMON",
              "give it CAP_PERFMON (setcap cap_perfmon+ep, AmbientCapabilities=CAP_PERFMON, --cap-add PERFMON)"};
    case Need::root_only_file:
      return {"the file is readable by root only",
              "run as root, or give it CAP_DAC_READ_SEARCH (setcap cap_dac_read_search+ep, --cap-add DAC_READ_SEARCH)"};
    case Need::nothing_special: break;
  }
  return {"a file may not be read", "check the permissions of the mounted /sys (a read-only bind mount is enough)"};
}

}  // namespace

PermissionFacts permission_facts(Machine& machine) {
  PermissionFacts facts;
  std::array<char, 32> buffer;
  if (const auto text = machine.proc.read("sys/kernel/perf_event_paranoid", buffer))
    facts.perf_event_paranoid = scan_integer<int>(*text);
  facts.has_perfmon = machine.privileges.has_capability(Privileges::kCapPerfmon);
  facts.has_sys_admin = machine.privileges.has_capability(Privileges::kCapSysAdmin);
  return facts;
}

Advice advise(const FeatureDescriptor& feature, const Absent& absent, const PermissionFacts& facts) {
  switch (absent.reason) {
    case Reason::permission: return permission_advice(feature, absent, facts);
    case Reason::kernel:
      if (feature.need == Need::perf_events) {
        return {"this kernel's driver does not offer the PMU or the events (ENOENT/ENODEV)",
                "a newer kernel: i915 has its PMU since 4.16, xe since 6.15 to 6.17"};
      }
      return {"this kernel's driver does not offer it", "a newer kernel, if the hardware has it at all"};
    case Reason::hardware: return {"this GPU does not have it", ""};
    case Reason::suspended: return {"the GPU is runtime-suspended, or about to be, and is not woken to be read", ""};
    case Reason::disabled: return {"turned off by a flag", "--collector.NAME"};
  }
  return {};
}

}  // namespace igpu
