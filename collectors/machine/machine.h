// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "igpu/units.h"
#include "machine/device_users.h"
#include "machine/drm_node.h"
#include "machine/filesystem.h"
#include "machine/job_counters.h"
#include "machine/kernel_messages.h"
#include "machine/page_folder.h"
#include "machine/perf_events.h"
#include "machine/queue_faults.h"

namespace igpu {

class GpuAdapters;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() const = 0;  // CLOCK_MONOTONIC
};

// Privileges of this process. Queried, never guessed from values (without permission i915 shows free = total and xe
// used = 0).
class Privileges {
 public:
  virtual ~Privileges() = default;
  virtual bool has_capability(int number) const = 0;  // effective, now; numbers as in linux/capability.h
  virtual std::uint32_t effective_uid() const = 0;
  // Whether capabilities are those of the whole machine: drivers and perf require that, whatever a process holds in a
  // user namespace of its own.
  virtual bool in_initial_user_namespace() const = 0;

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
  Directory* root = nullptr;  // the host's file system, for names of pods and containers; null: not available
  // Null if there is no such interface; why_no_drm_users says why. Both are empty on machines that are not real.
  DeviceUsers* drm_users = nullptr;
  std::optional<Absent> why_no_drm_users{};
  JobCounterSource* job_counters = nullptr;  // null: the machine is not a real one
  QueueFaultSource* queue_faults = nullptr;  // null: see why_no_queue_faults
  Absent why_no_queue_faults{Reason::hardware};
  GpuAdapters* adapters = nullptr;  // machine/gpu_adapters.h; null: this is not Windows, its GPUs are in sys
  KernelChannel uevents{};
  KernelChannel output_uevents{};  // the same for another reader: the kernel gives each socket every message
  KernelChannel kernel_log{};
  // How long one scan of /proc for clients may take.
  Nanoseconds client_scan_limit = std::chrono::seconds(2);
};

std::unique_ptr<Clock> system_clock();
std::unique_ptr<Privileges> system_privileges();
std::unique_ptr<Names> system_names();

}  // namespace igpu
