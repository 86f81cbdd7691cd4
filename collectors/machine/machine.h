// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "igpu/units.h"
#include "machine/drm_node.h"
#include "machine/filesystem.h"
#include "machine/perf_events.h"

namespace igpu {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() const = 0;  // CLOCK_MONOTONIC
};

// What this process may do. Asked, never guessed from values (i915 shows free = total and xe used = 0 to those who may
// not know).
class Privileges {
 public:
  virtual ~Privileges() = default;
  virtual bool has_capability(int number) const = 0;  // effective, now; numbers as in linux/capability.h
  virtual std::uint32_t effective_uid() const = 0;
  // Whether capabilities are those of the whole machine: drivers and perf ask for nothing less, whatever a process in a
  // user namespace of its own holds there.
  virtual bool in_initial_user_namespace() const = 0;

  bool is_perfmon_capable() const {
    return in_initial_user_namespace() && (has_capability(kCapPerfmon) || has_capability(kCapSysAdmin));
  }

  static constexpr int kCapDacReadSearch = 2;
  static constexpr int kCapSysPtrace = 19;
  static constexpr int kCapSysAdmin = 21;
  static constexpr int kCapPerfmon = 38;
};

// What numbers are called on this machine.
class Names {
 public:
  virtual ~Names() = default;
  // "DG2 [Arc A770]" from the system's PCI id list (package pci.ids); "" if it does not know.
  virtual std::string pci_device(std::uint16_t vendor, std::uint16_t device) const = 0;
  // From /etc/passwd; "" if it does not know.
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
};

std::unique_ptr<Clock> system_clock();
std::unique_ptr<Privileges> system_privileges();
std::unique_ptr<Names> system_names();

}  // namespace igpu
