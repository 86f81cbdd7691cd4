// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/process.h"

#include <cerrno>
#include <set>
#include <utility>

#include "base/scan.h"
#include "kernel/clients/cgroup_names.h"

namespace igpu {
namespace {

// USER_HZ: what times in /proc are counted in, whatever the kernel's own tick is.
constexpr double kTicksPerSecond = 100;

using Pid = std::uint32_t;

// "<pid>/stat".
std::string path_of(Pid pid, std::string_view file) { return std::to_string(pid).append("/").append(file); }

TreeProcess tree_process(const ProcessStat& stat, Pid pid, std::uint64_t page_size) {
  return {.pid = pid,
          .parent = stat.parent,
          .start_ticks = stat.start_time_ticks,
          .user_ticks = stat.user_ticks,
          .system_ticks = stat.system_ticks,
          .reaped_user_ticks = stat.reaped_user_ticks,
          .reaped_system_ticks = stat.reaped_system_ticks,
          .reaped_faults = stat.reaped_faults,
          .resident_bytes = stat.resident_pages * page_size};
}

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

bool shows_all_processes(const Directory& proc) {
  std::array<char, 64> buffer;
  const auto comm = proc.read_start("2/comm", buffer);
  return comm && trim(*comm) == "kthreadd";
}

std::optional<ProcessIo> parse_process_io(std::string_view text) {
  std::optional<std::uint64_t> read, written;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::string_view key = take_until(line, ':');
    if (key == "read_bytes") read = scan_u64(line);
    if (key == "write_bytes") written = scan_u64(line);
  }
  if (!read || !written) return std::nullopt;
  return ProcessIo{*read, *written};
}

// One search for all processes below some roots.
struct ProcessTree::Search {
  Search(Machine& its_machine, const Limits& its_limits)
      : machine(its_machine),
        limits(its_limits),
        deadline(machine.clock.now() + limits.time),
        bytes_of_page(machine.privileges.page_size()) {}

  bool at_limit() {
    if (found.processes.size() < limits.processes && machine.clock.now() < deadline) return false;
    found.complete = false;
    return true;
  }

  // False if it has ended.
  bool read(Pid pid) {
    std::array<char, 2048> buffer;
    const auto text = machine.proc.read_start(path_of(pid, "stat"), buffer);
    // What failed this time (no descriptor, no memory) has not ended.
    if (text.is_failure()) found.complete = false;
    if (!text) return false;
    const auto stat = parse_process_stat(*text);
    if (!stat) return false;
    found.processes.push_back(tree_process(*stat, pid, bytes_of_page));
    return true;
  }

  void read_io(TreeProcess& process) {
    std::array<char, 1024> buffer;
    const auto text = machine.proc.read_start(path_of(process.pid, "io"), buffer);
    if (!text) {
      if (text.is_absent() && text.absent().reason == Reason::permission) found.io_denied = true;
      return;
    }
    const auto io = parse_process_io(*text);
    if (!io) return;
    process.read_bytes = io->read_bytes;
    process.written_bytes = io->written_bytes;
  }

  // The children of each of its threads. False if the kernel does not list them.
  bool add_children(Pid pid, std::vector<Pid>& children) {
    const auto task = machine.proc.open_directory(path_of(pid, "task"));
    if (!task) return !machine.proc.stat(std::to_string(pid));
    bool listed_any = false;
    std::array<char, 65536> buffer;
    const auto listed = (*task)->for_each(".", [&](std::string_view thread) {
      const auto text = (*task)->read_start(std::string(thread) + "/children", buffer);
      if (!text) return true;
      listed_any = true;
      std::string_view rest = *text;
      while (!rest.empty())
        if (const auto child = scan_integer<Pid>(take_until(rest, ' '))) children.push_back(*child);
      return true;
    });
    return (listed && listed_any) || !machine.proc.stat(std::to_string(pid));
  }

  // From the roots down. False if the kernel does not list children.
  bool descend(std::span<const Pid> roots) {
    std::set<Pid> visited;
    std::vector<Pid> next(roots.begin(), roots.end());
    while (!next.empty()) {
      if (at_limit()) return true;
      const Pid pid = next.back();
      next.pop_back();
      if (!visited.insert(pid).second || !read(pid)) continue;
      if (!add_children(pid, next)) return false;
    }
    return true;
  }

  // Reads all processes, and keeps those below the roots.
  Reading<Unit> sift(std::span<const Pid> roots) {
    found.processes.clear();
    const auto listed = machine.proc.for_each(".", [this](std::string_view name) {
      if (const auto pid = scan_integer<Pid>(name)) {
        if (at_limit()) return false;
        read(*pid);
      }
      return true;
    });
    if (!listed) return listed;
    sort();
    std::set<Pid> below(roots.begin(), roots.end());
    // Children mostly have higher PIDs than their parents; reused PIDs need more rounds.
    for (bool more = true; std::exchange(more, false);)
      for (const TreeProcess& process : found.processes)
        if (below.contains(process.parent) && below.insert(process.pid).second) more = true;
    std::erase_if(found.processes, [&](const TreeProcess& process) { return !below.contains(process.pid); });
    return Unit{};
  }

  void sort() { std::ranges::sort(found.processes, {}, &TreeProcess::pid); }

  Machine& machine;
  const Limits& limits;
  const Nanoseconds deadline;
  const std::uint64_t bytes_of_page;
  Found found;
};

Reading<ProcessTree::Found> ProcessTree::below(std::span<const std::uint32_t> roots) const {
  Search search(machine_, limits_);
  const auto now = machine_.clock.boot_now();
  if (!now) return now.propagate<Found>();
  search.found.now_ticks = static_cast<std::uint64_t>(*now / kStartTimeTick);
  if (!search.descend(roots))
    if (const auto sifted = search.sift(roots); !sifted) return sifted.propagate<Found>();
  search.sort();
  for (TreeProcess& process : search.found.processes) search.read_io(process);
  return std::move(search.found);
}

}  // namespace igpu
