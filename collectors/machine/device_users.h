// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "igpu/reading.h"

namespace igpu {

// Which processes have a character device of one major number open, as the kernel itself reports it to BPF programs.
// One thread at a time.
class DeviceUsers {
 public:
  virtual ~DeviceUsers() = default;

  // PIDs of all processes, one entry for each open descriptor; sorted. In the order of nothing else: one pass over
  // every descriptor of the machine, inside the kernel.
  virtual Reading<std::vector<std::uint32_t>> list() = 0;

  struct Changes {
    std::vector<std::uint32_t> processes;  // PIDs that got a descriptor; any number of times, ended ones included
    bool some_lost = false;                // more than could be kept: list() has them
  };
  // Whether the kernel reports changes; if not, only list() shows them.
  virtual bool reports_changes() const = 0;
  // Since the last call. A change that list() may have missed is reported by the next call. No system call.
  virtual Changes changes() = 0;
};

// Loads the programs. Requires CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN; afterwards list() requires the system call
// bpf(BPF_ITER_CREATE) and no capability. Absent{permission}: denied; Absent{kernel}: this kernel cannot run them, or
// processes have other numbers below procfs_root than in the kernel (a PID namespace of a container);
// Absent{disabled}: built without BPF (-DIGPU_BPF=OFF).
Reading<std::unique_ptr<DeviceUsers>> open_device_users(std::uint32_t major, const std::string& procfs_root);

// Whether a kernel shows its processes there, rather than a copy.
bool is_procfs(const std::string& folder);

}  // namespace igpu
