// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/process.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/scan.h"
#include "kernel/clients/cgroup_names.h"

namespace igpu {
namespace {

// USER_HZ: what times in /proc are counted in, whatever the kernel's own tick is.
constexpr double kTicksPerSecond = 100;

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // pid (comm) S ...: comm may hold anything, but nothing after it holds a parenthesis.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  ProcessStat stat;
  stat.comm = text.substr(open + 1, close - open - 1);

  // proc_pid_stat(5) numbers the fields from 1; after comm follows field 3.
  constexpr std::size_t kFirst = 3, kParent = 4, kReapedFaults = 11, kUtime = 14, kStime = 15, kReapedUtime = 16,
                        kReapedStime = 17, kStartTime = 22, kVsize = 23, kRss = 24;
  std::array<std::string_view, kRss - kFirst + 1> fields;
  std::string_view rest = trim(text.substr(close + 1));
  for (std::string_view& field : fields) field = take_until(rest, ' ');
  const auto number = [&](std::size_t field) { return scan_u64(fields[field - kFirst]); };

  const auto utime = number(kUtime), stime = number(kStime), start = number(kStartTime), vsize = number(kVsize);
  const auto rss = scan_i64(fields[kRss - kFirst]);
  if (!utime || !stime || !start || !vsize || !rss) return std::nullopt;
  stat.parent = scan_integer<std::uint32_t>(fields[kParent - kFirst]).value_or(0);
  stat.start_time_ticks = *start;
  stat.user_ticks = *utime;
  stat.system_ticks = *stime;
  stat.reaped_user_ticks = number(kReapedUtime).value_or(0);
  stat.reaped_system_ticks = number(kReapedStime).value_or(0);
  stat.reaped_faults = number(kReapedFaults).value_or(0);
  stat.cpu = Seconds{(static_cast<double>(*utime) + static_cast<double>(*stime)) / kTicksPerSecond};
  stat.virtual_size = Bytes{static_cast<double>(*vsize)};
  stat.resident_pages = static_cast<std::uint64_t>(std::max<std::int64_t>(*rss, 0));
  return stat;
}

std::optional<std::uint32_t> parse_status_uid(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_until(line, ':') != "Uid") continue;
    line = trim(line);  // real, effective, saved, file system
    take_until(line, '\t');
    return scan_integer<std::uint32_t>(take_until(line, '\t'));
  }
  return std::nullopt;
}

const std::string& UserNames::name(std::uint32_t uid, Nanoseconds now) {
  constexpr Nanoseconds kKeep = std::chrono::minutes(10);
  constexpr std::size_t kMany = 4096;
  if (now - since_ > kKeep || known_.size() > kMany) {
    known_.clear();
    since_ = now;
  }
  auto it = known_.find(uid);
  if (it == known_.end()) {
    std::string name = names_.user(uid);
    if (name.empty()) name = std::to_string(uid);
    it = known_.emplace(uid, std::move(name)).first;
  }
  return it->second;
}

void set_cgroup(ClientProcess& process, std::string_view path) {
  process.cgroup = path;
  CgroupNames names = names_of_cgroup(process.cgroup);
  process.container_id = names.container_id;
  process.pod_uid = std::move(names.pod_uid);
  process.systemd_unit = names.systemd_unit;
}

Reading<ClientProcess> read_process_stat(const Directory& directory, std::uint32_t pid, std::uint64_t page_size) {
  std::array<char, 2048> buffer;
  const auto text = directory.read_start("stat", buffer);
  if (!text) return text.propagate<ClientProcess>();
  const auto stat = parse_process_stat(*text);
  if (!stat) return Absent{Reason::kernel, ESRCH};  // empty: the process has just ended

  ClientProcess process;
  process.pid = pid;
  process.start_time_ticks = stat->start_time_ticks;
  process.comm = stat->comm;
  process.cpu = stat->cpu;
  process.resident = Bytes{static_cast<double>(stat->resident_pages) * static_cast<double>(page_size)};
  process.virtual_size = stat->virtual_size;
  return process;
}

Reading<ClientProcess> read_process(const Directory& directory, std::uint32_t pid, UserNames& users, Nanoseconds now,
                                    std::uint64_t page_size) {
  auto process = read_process_stat(directory, pid, page_size);
  if (!process) return process;
  std::array<char, 16384> buffer;  // a cgroup file of version 1 has a dozen long lines
  if (const auto status = directory.read_start("status", buffer))
    if (const auto uid = parse_status_uid(*status)) process->user = users.name(*uid, now);
  if (const auto cgroup = directory.read("cgroup", buffer)) set_cgroup(*process, most_specific_cgroup(*cgroup));
  return process;
}

}  // namespace igpu
