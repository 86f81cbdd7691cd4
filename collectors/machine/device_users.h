// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "igpu/reading.h"

namespace igpu {

using DeviceMajors = std::array<std::uint32_t, 2>;

// Any thread, also while another one calls DeviceUsers.
class ChangeSignal {
 public:
  virtual ~ChangeSignal() = default;
  // Waits for a change after those that DeviceUsers::changes() returned last. False: interrupted, now or before.
  virtual bool wait() = 0;
  virtual void interrupt() = 0;
};

// Processes that have a character device of one of two major numbers open, as BPF programs in the kernel report them.
// One thread at a time.
class DeviceUsers {
 public:
  virtual ~DeviceUsers() = default;

  // Sorted PIDs, one per open descriptor. Costs one pass of the kernel over all descriptors of the machine.
  virtual Reading<std::vector<std::uint32_t>> list() = 0;

  struct Changes {
    std::vector<std::uint32_t> processes;  // PIDs that got a descriptor; may repeat, and may have ended
    bool some_lost = false;                // there were more than fit; list() has them
  };
  // Whether the kernel reports changes; if not, only list() shows them.
  virtual bool reports_changes() const = 0;
  // Changes since the last call, without a system call. A change that list() missed is in the next call's.
  virtual Changes changes() = 0;
  virtual ChangeSignal* change_signal() { return nullptr; }  // null: the kernel reports no changes
};

// Loads the programs. Requires CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN; afterwards list() requires the system call
// bpf(BPF_ITER_CREATE) and no capability. Absent{permission}: denied; Absent{kernel}: this kernel cannot run them, or
// processes have other numbers below procfs_root than in the kernel (a PID namespace of a container);
// Absent{disabled}: built without BPF (-DIGPU_BPF=OFF).
Reading<std::unique_ptr<DeviceUsers>> open_device_users(const DeviceMajors& majors, const std::string& procfs_root);

// Whether a kernel shows its processes there, rather than a copy.
bool is_procfs(const std::string& folder);

}  // namespace igpu
