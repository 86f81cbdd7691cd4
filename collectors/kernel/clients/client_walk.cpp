// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/client_walk.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/scan.h"

namespace igpu {

namespace {

std::optional<std::uint32_t> scan_pid(std::string_view name) {
  if (name.empty() || name.front() < '0' || name.front() > '9') return std::nullopt;  // most of /proc is not a PID
  return scan_integer<std::uint32_t>(name);
}

constexpr std::string_view kDebugDri = "kernel/debug/dri";
// The command's column; a name has 15 bytes at most, and may hold anything.
constexpr std::size_t kCommand = 20;
// Thousands of open files; what does not fit is found without this hint.
constexpr std::size_t kMostClientsText = 256UL * 1024;
// Minors of primary nodes. The folder of a render node repeats what its primary node's has.
constexpr std::uint32_t kPrimaryNodes = 64;

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

std::vector<std::uint32_t> parse_drm_openers(std::string_view text) {
  std::vector<std::uint32_t> pids;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.size() <= kCommand) continue;
    line.remove_prefix(kCommand);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const auto pid = scan_integer<std::uint32_t>(line.substr(0, line.find(' ')));  // the title has none
    if (pid.value_or(0) != 0) pids.push_back(*pid);
  }
  return pids;
}

std::vector<std::uint32_t> DrmOpeners::changed(const Directory& sys) {
  Counts now;
  (void)sys.for_each(kDebugDri, [&](std::string_view name) {
    const auto minor = scan_integer<std::uint32_t>(name);
    if (!minor || *minor >= kPrimaryNodes) return true;
    buffer_.resize(kMostClientsText);
    const auto text = sys.read_start(std::string(kDebugDri) + '/' + std::string(name) + "/clients", buffer_);
    if (text)
      for (const std::uint32_t pid : parse_drm_openers(*text)) ++now[pid];
    return true;
  });
  std::vector<Counts::value_type> different;
  std::set_symmetric_difference(now.begin(), now.end(), known_.begin(), known_.end(), std::back_inserter(different));
  std::vector<std::uint32_t> pids;
  for (const auto& entry : different)
    if (pids.empty() || pids.back() != entry.first) pids.push_back(entry.first);
  known_ = std::move(now);
  return pids;
}

}  // namespace igpu
