// SPDX-License-Identifier: Apache-2.0
#include "sandbox/capabilities.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "service/descriptor.h"

namespace igpu::exporter {
namespace {

// In the order of their numbers. The kernel's own headers may know fewer than the kernel that runs.
constexpr std::array<std::string_view, 41> kNames{"CAP_CHOWN",
                                                  "CAP_DAC_OVERRIDE",
                                                  "CAP_DAC_READ_SEARCH",
                                                  "CAP_FOWNER",
                                                  "CAP_FSETID",
                                                  "CAP_KILL",
                                                  "CAP_SETGID",
                                                  "CAP_SETUID",
                                                  "CAP_SETPCAP",
                                                  "CAP_LINUX_IMMUTABLE",
                                                  "CAP_NET_BIND_SERVICE",
                                                  "CAP_NET_BROADCAST",
                                                  "CAP_NET_ADMIN",
                                                  "CAP_NET_RAW",
                                                  "CAP_IPC_LOCK",
                                                  "CAP_IPC_OWNER",
                                                  "CAP_SYS_MODULE",
                                                  "CAP_SYS_RAWIO",
                                                  "CAP_SYS_CHROOT",
                                                  "CAP_SYS_PTRACE",
                                                  "CAP_SYS_PACCT",
                                                  "CAP_SYS_ADMIN",
                                                  "CAP_SYS_BOOT",
                                                  "CAP_SYS_NICE",
                                                  "CAP_SYS_RESOURCE",
                                                  "CAP_SYS_TIME",
                                                  "CAP_SYS_TTY_CONFIG",
                                                  "CAP_MKNOD",
                                                  "CAP_LEASE",
                                                  "CAP_AUDIT_WRITE",
                                                  "CAP_AUDIT_CONTROL",
                                                  "CAP_SETFCAP",
                                                  "CAP_MAC_OVERRIDE",
                                                  "CAP_MAC_ADMIN",
                                                  "CAP_SYSLOG",
                                                  "CAP_WAKE_ALARM",
                                                  "CAP_BLOCK_SUSPEND",
                                                  "CAP_AUDIT_READ",
                                                  "CAP_PERFMON",
                                                  "CAP_BPF",
                                                  "CAP_CHECKPOINT_RESTORE"};

using Halves = std::array<__user_cap_data_struct, 2>;

CapabilitySet joined(std::uint32_t low, std::uint32_t high) { return (CapabilitySet{high} << 32) | low; }

bool set_own(const ThreadCapabilities& wanted) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  Halves data{};
  const auto low = [](CapabilitySet set) { return static_cast<std::uint32_t>(set); };
  const auto high = [](CapabilitySet set) { return static_cast<std::uint32_t>(set >> 32); };
  data[0] = {low(wanted.effective), low(wanted.permitted), low(wanted.inheritable)};
  data[1] = {high(wanted.effective), high(wanted.permitted), high(wanted.inheritable)};
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

bool kernel_lets_count() {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.disabled = 1;
  // The first CPU need not be online; the one we run on is.
  const int cpu = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
  for (int i = 0; i < cpu; ++i) {
    const Descriptor event(static_cast<int>(
        ::syscall(SYS_perf_event_open, &attributes, -1, i, -1, static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))));
    if (event) return true;
    if (errno != ENODEV) return false;
  }
  return false;
}

LayerOutcome failed(const char* call) {
  return LayerOutcome::missing(std::string(call) + ": " + std::generic_category().message(errno),
                               "look whether a seccomp profile of the service or container refuses capset and prctl");
}

}  // namespace

std::string names_of(CapabilitySet set) {
  std::string names;
  for (std::size_t number = 0; number < 64; ++number) {
    if ((set >> number & 1) == 0) continue;
    names += names.empty() ? "" : " ";
    names += number < kNames.size() ? std::string(kNames[number]) : "capability " + std::to_string(number);
  }
  return names.empty() ? "none" : names;
}

CapabilitySet capabilities_to_keep(CapabilitySet permitted, const CapabilityUses& uses, const PerfTrial& may_count) {
  using namespace capability;
  CapabilitySet useful = 0;
  if (uses.reads_kernel) useful |= set(kPerfmon) | set(kSysPtrace) | set(kDacReadSearch);
  if (uses.reads_files) useful |= set(kDacReadSearch);
  CapabilitySet keep = permitted & useful;
  if (uses.reads_kernel && (permitted & set(kSysAdmin)) != 0) {
    const CapabilitySet with_admin = keep | set(kSysAdmin);
    if (!may_count(keep) && may_count(with_admin)) keep = with_admin;
  }
  return keep;
}

ThreadCapabilities own_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  Halves data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "capget");
  }
  return {joined(data[0].effective, data[1].effective), joined(data[0].permitted, data[1].permitted),
          joined(data[0].inheritable, data[1].inheritable)};
}

CapabilitySet capabilities_to_keep(const CapabilityUses& uses) {
  const ThreadCapabilities before = own_capabilities();
  const CapabilitySet keep = capabilities_to_keep(before.permitted, uses, [&](CapabilitySet effective) {
    return set_own({effective, before.permitted, before.inheritable}) && kernel_lets_count();
  });
  set_own(before);
  return keep;
}

LayerOutcome kept(CapabilitySet keep) {
  LayerOutcome outcome = LayerOutcome::holds("keeps " + names_of(keep));
  if ((keep & capability::set(capability::kSysAdmin)) != 0) {
    outcome.hint =
        "perf events need CAP_SYS_ADMIN here: grant CAP_PERFMON, and where kernel.perf_event_paranoid is above 2, "
        "`sysctl kernel.perf_event_paranoid=2`";
  }
  return outcome;
}

CapabilitySet capabilities_to_read(const std::vector<std::string>& files, CapabilitySet kept) {
  const CapabilitySet reads = kept & capability::set(capability::kDacReadSearch);
  if (reads == 0) return 0;
  const ThreadCapabilities before = own_capabilities();
  if (!set_own({kept & ~reads, before.permitted, before.inheritable})) return reads;
  const bool needed = std::any_of(files.begin(), files.end(), [](const std::string& file) {
    return !Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) && errno == EACCES;
  });
  set_own(before);
  return needed ? reads : 0;
}

bool limit_capabilities(CapabilitySet keep) { return set_own({keep, keep, 0}); }

LayerOutcome drop_capabilities(CapabilitySet keep) {
  try {
    const ThreadCapabilities before = own_capabilities();
    keep &= before.permitted;
    // Without CAP_SETPCAP the bounding set stays: then it bounds nothing, as no program can be run any more.
    if ((before.permitted & capability::set(capability::kSetpcap)) != 0) {
      set_own({before.permitted, before.permitted, before.inheritable});
      for (int number = 0; number < 64; ++number) {
        const int bound = ::prctl(PR_CAPBSET_READ, number, 0, 0, 0);
        if (bound < 0) break;  // one past the last that this kernel knows
        if (bound == 1 && (keep >> number & 1) == 0 && ::prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0) {
          return failed("prctl(PR_CAPBSET_DROP)");
        }
      }
    }
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) {
      return failed("prctl(PR_CAP_AMBIENT)");
    }
    if (!set_own({keep, keep, 0})) return failed("capset");
  } catch (const std::system_error& error) {
    errno = error.code().value();
    return failed("capget");
  }
  return kept(keep);
}

}  // namespace igpu::exporter
