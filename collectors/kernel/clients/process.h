// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree_usage.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "kernel/clients/clients.h"
#include "machine/machine.h"

// What /proc/<pid> reports about a process (Documentation/filesystems/proc.rst; fs/proc/array.c). Command line and
// environment are never read: they may hold secrets such as stream keys.
namespace igpu {

// "<prefix><number><suffix>" without a heap allocation.
class NumberedPath {
 public:
  NumberedPath(std::string_view prefix, std::uint32_t number, std::string_view suffix = {}) {
    char* end = std::copy(prefix.begin(), prefix.end(), text_.data());
    end = std::to_chars(end, text_.data() + text_.size(), number).ptr;
    end = std::copy(suffix.begin(), suffix.end(), end);
    size_ = static_cast<std::size_t>(end - text_.data());
  }
  // Implicit, for functions that take a path. NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string_view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 32> text_;
  std::size_t size_;
};

// /proc/<pid>/stat.
struct ProcessStat {
  std::string_view comm;  // any bytes, also parentheses, newlines and bad UTF-8; at most 15 for a user's process
  std::uint32_t parent = 0;
  std::uint64_t start_time_ticks = 0;
  // All threads. reaped: of children that have ended and were waited for, including their own children.
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  std::uint64_t reaped_user_ticks = 0;
  std::uint64_t reaped_system_ticks = 0;
  std::uint64_t reaped_faults = 0;
  Seconds cpu;  // user and system, all threads
  Bytes virtual_size;
  std::uint64_t resident_pages = 0;  // pages of the machine's page size
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// The effective uid of /proc/<pid>/status. The owner of the directory would be root for every process that is not
// dumpable.
std::optional<std::uint32_t> parse_status_uid(std::string_view text);

// User names by uid, cached for ten minutes, because each look-up reads the whole passwd file.
class UserNames {
 public:
  explicit UserNames(const Names& names) : names_(names) {}
  // The number itself if no name is known (a container does not know the host's users).
  const std::string& name(std::uint32_t uid, Nanoseconds now);

 private:
  const Names& names_;
  std::map<std::uint32_t, std::string> known_;
  Nanoseconds since_{};
};

// directory: /proc/<pid>, held open so that all files are of one process. Absent if it is gone.
Reading<ClientProcess> read_process(const Directory& directory, std::uint32_t pid, UserNames& users, Nanoseconds now,
                                    std::uint64_t page_size);
// As read_process(), but in one read of /proc/<pid>/stat, which has neither the user nor the control group.
Reading<ClientProcess> read_process_stat(const Directory& directory, std::uint32_t pid, std::uint64_t page_size);

// Sets the control group, and the names that its path tells.
void set_cgroup(ClientProcess& process, std::string_view path);

// False: /proc is that of a container, or hides foreign processes (mount option hidepid): its process 2 is not the
// kernel's.
bool shows_all_processes(const Directory& proc);

// Process trees from /proc/<pid>/stat, io and task/<tid>/children (Documentation/filesystems/proc.rst;
// fs/proc/array.c, base.c).

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
