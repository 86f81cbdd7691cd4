// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/tree_usage.h"
#include "igpu/reading.h"
#include "machine/machine.h"

// Process trees from /proc/<pid>/stat, io and task/<tid>/children (Documentation/filesystems/proc.rst;
// fs/proc/array.c, base.c).
namespace igpu {

// /proc/<pid>/io, which needs the same rights as fdinfo (ptrace read access).
struct ProcessIo {
  std::uint64_t read_bytes = 0;     // from storage
  std::uint64_t written_bytes = 0;  // towards storage; data truncated before it was stored is not subtracted
};
std::optional<ProcessIo> parse_process_io(std::string_view text);

// Finds the descendants of processes.
class ProcessTree {
 public:
  struct Limits {
    std::size_t processes = 65536;
    Nanoseconds time = std::chrono::seconds(1);
  };
  struct Found {
    std::vector<TreeProcess> processes;  // roots and all processes below them; sorted by PID, each once
    std::uint64_t now_ticks = 0;         // when the search began, on the clock of the processes' start times
    bool complete = true;                // false: a limit was reached, or a process could not be read this time
    bool io_denied = false;              // bytes read and written are missing for some processes
  };

  explicit ProcessTree(Machine& machine) : ProcessTree(machine, Limits{}) {}
  ProcessTree(Machine& machine, Limits limits) : machine_(machine), limits_(limits) {}

  // roots: PIDs in any order; those that have ended are omitted. The cost depends on the members, not on all processes
  // of the machine, if the kernel lists children (CONFIG_PROC_CHILDREN); otherwise every process' stat is read.
  Reading<Found> below(std::span<const std::uint32_t> roots) const;

 private:
  struct Search;
  Machine& machine_;
  const Limits limits_;
};

}  // namespace igpu
