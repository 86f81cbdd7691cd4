// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "igpu/reading.h"
#include "igpu/units.h"
#include "kernel/clients/clients.h"
#include "machine/machine.h"

// What /proc/<pid> reports about a process (Documentation/filesystems/proc.rst; fs/proc/array.c). Command line and
// environment are never read: they may hold secrets such as stream keys.
namespace igpu {

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

}  // namespace igpu
