// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

#include "igpu/units.h"
#include "machine/device_users.h"
#include "machine/driver_events.h"
#include "machine/drm_node.h"
#include "machine/filesystem.h"
#include "machine/kernel_messages.h"
#include "machine/page_folder.h"
#include "machine/perf_events.h"

namespace igpu {

class GpuAdapters;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() const = 0;  // CLOCK_MONOTONIC
  // CLOCK_BOOTTIME: the clock of the start times in /proc/<pid>/stat. The kernel shows both in the reader's time
  // namespace (fs/proc/array.c, do_task_stat; since Linux 5.5). /proc/uptime may be another clock: lxcfs writes the age
  // of a container into it. Absent: the machine is not a real one and has no such clock.
  virtual Reading<Nanoseconds> boot_now() const { return Absent{Reason::kernel, ENODATA}; }
};

inline constexpr Nanoseconds kStartTimeTick = std::chrono::milliseconds(10);  // USER_HZ: the unit of start times
inline constexpr std::uint64_t kUsualPageSize = 4096;

// Privileges of this process. Queried, never guessed from values (without permission i915 shows free = total and xe
// used = 0). And what else the kernel tells only by a system call.
class Privileges {
 public:
  virtual ~Privileges() = default;
  virtual bool has_capability(int number) const = 0;  // effective, now; numbers as in linux/capability.h
  virtual std::uint32_t effective_uid() const = 0;
  // Whether capabilities are those of the whole machine: drivers and perf require that, whatever a process holds in a
  // user namespace of its own.
  virtual bool in_initial_user_namespace() const = 0;

  // The kernel's page size in bytes: the unit of resident memory in /proc/<pid>/stat (fs/proc/array.c, do_task_stat).
  // x86 has 4096, kernels for arm64 also 16384 and 65536.
  virtual std::uint64_t page_size() const { return kUsualPageSize; }

  bool is_perfmon_capable() const {
    return in_initial_user_namespace() && (has_capability(kCapPerfmon) || has_capability(kCapSysAdmin));
  }

  static constexpr int kCapDacReadSearch = 2;
  static constexpr int kCapSysPtrace = 19;
  static constexpr int kCapSysAdmin = 21;
  static constexpr int kCapPerfmon = 38;
};

// Names of numeric ids on this machine.
class Names {
 public:
  virtual ~Names() = default;
  // "DG2 [Arc A770]" from the system's PCI id list (package pci.ids); "" if unknown.
  virtual std::string pci_device(std::uint16_t vendor, std::uint16_t device) const = 0;
  // From /etc/passwd; "" if unknown.
  virtual std::string user(std::uint32_t uid) const = 0;
};

// Everything the OS offers, behind interfaces; the real one, a captured tree with fakes, or a simulated machine.
// Only machine/ touches the OS.
struct Machine {
  Directory& sys;
  Directory& proc;
  Directory& dev;
  PerfEvents& perf;
  DrmNodes& drm;
  Clock& clock;
  Privileges& privileges;
  Names& names;
  // For files of other programs; null: this machine has none.
  std::unique_ptr<PageFolder> (*page_folder)(std::string path) = nullptr;
  Directory* root = nullptr;        // the host's file system, for names of pods and containers; null: not available
  GpuAdapters* adapters = nullptr;  // machine/gpu_adapters.h; null: this is not Windows, its GPUs are in sys
  // Parts with a reason if they are missing. kNoPart: not wanted, or the machine is not a real one.
  static constexpr Absent kNoPart{Reason::hardware};
  Reading<DeviceUsers*> drm_users = kNoPart;
  Reading<JobCounterSource*> job_counters = kNoPart;
  Reading<QueueFaultSource*> queue_faults = kNoPart;
  Reading<KernelMessages*> uevents = kNoPart;
  Reading<KernelMessages*> output_uevents = kNoPart;  // for another reader: the kernel gives each socket every message
  Reading<KernelMessages*> kernel_log = kNoPart;
  // How long one scan of /proc for clients may take.
  Nanoseconds client_scan_limit = std::chrono::seconds(2);
};

std::unique_ptr<Clock> system_clock();
std::unique_ptr<Privileges> system_privileges();
std::unique_ptr<Names> system_names();

}  // namespace igpu
