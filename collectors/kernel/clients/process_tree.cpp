// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/process_tree.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "base/scan.h"
#include "kernel/clients/process.h"

namespace igpu {
namespace {

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
