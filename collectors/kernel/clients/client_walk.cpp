// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/client_walk.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/scan.h"

namespace igpu {
namespace {

std::optional<std::uint32_t> scan_pid(std::string_view name) {
  if (name.empty() || name.front() < '0' || name.front() > '9') return std::nullopt;  // most of /proc is not a PID
  return scan_integer<std::uint32_t>(name);
}

}  // namespace

Reading<ClientSnapshot> ClientWalk::find(std::span<const std::string> asleep) {
  scan_.begin(asleep);
  if (const auto listed = list_processes(); !listed) return listed.propagate<ClientSnapshot>();
  if (!scan_.all_asleep()) {
    // Signs that a process must be scanned, without reading its descriptors.
    for (WalkedProcess& process : scan_.memory().processes())
      process.must_scan = scan_.is_unsettled(process) || process.scans < 2;
    choose_openers();
    scan_.memory().choose_oldest(scan_.number(), kMostWalks);
    scan_.read_known();
    // A walk without time for all processes still scans some of them.
    const bool all_examined = !scan_.snapshot().complete || examine_others();
    scan_.scan_chosen(all_examined);
  }
  return scan_.finish();
}

Reading<Unit> ClientWalk::list_processes() {
  auto& pids = scan_.snapshot().pids;
  auto listed = machine_.proc.for_each(".", [&pids](std::string_view name) {
    if (const auto pid = scan_pid(name)) pids.push_back(*pid);
    return true;
  });
  std::ranges::sort(pids);
  std::vector<std::uint32_t> others = pids;
  if (scan_.self()) std::erase(others, *scan_.self());
  scan_.memory().follow(others, scan_.snapshot().time);
  return listed;
}

void ClientWalk::choose_openers() {
  const auto processes = scan_.memory().processes();
  for (const std::uint32_t pid : openers_.changed(machine_.sys)) {
    const auto found = std::ranges::lower_bound(processes, pid, {}, &WalkedProcess::pid);
    if (found != processes.end() && found->pid == pid) found->must_scan = true;
  }
}

// Examines the other processes in turn. Takes at most half of the time; the scans need the other half. False if it ran
// out of time: the next walk continues with the next process.
bool ClientWalk::examine_others() {
  const auto processes = scan_.memory().processes();
  const auto first = std::ranges::lower_bound(processes, examine_from_, {}, &WalkedProcess::pid);
  const auto offset = static_cast<std::size_t>(first - processes.begin());
  examine_from_ = 0;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    WalkedProcess& process = processes[(offset + i) % processes.size()];
    if (process.must_scan || process.examined) continue;
    if (machine_.clock.now() >= scan_.half_time()) {
      examine_from_ = process.pid;
      return false;
    }
    (void)scan_.examine(process);
    process.must_scan = ClientScan::has_changed(process);
  }
  return true;
}

}  // namespace igpu
