// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/clients/client_scan.h"
#include "kernel/clients/client_walk.h"
#include "kernel/clients/clients.h"
#include "kernel/clients/wddm_clients.h"
#include "machine/device_users.h"

namespace igpu {
namespace {

// Finds DRM clients through BPF programs that report which processes have a DRM node open. The cost does not depend on
// processes without a GPU client.
//
// The first scan lists all holders. Later scans cover a process when the kernel reports that it got a descriptor of a
// DRM node (opened, inherited or received), or when one of its known clients is gone. If the kernel cannot report
// that, each scan lists the holders and covers those whose number of DRM descriptors changed.
//
// A descriptor that a process gets by dup2() or SECCOMP_ADDFD is not reported, so the holders are listed again every
// kListAgain. Only SECCOMP_ADDFD can give a descriptor to a process without one.
//
// ClientSnapshot::pids are the running processes that hold or held a client. If the kernel refuses to list holders,
// the walk over /proc takes over.
class BpfFinder final : public ClientFinder {
 public:
  BpfFinder(Machine& machine, DeviceUsers& holders, ClientWalk::Limits limits)
      : holders_(holders), scan_(machine, limits.time), walk_(machine, limits) {}

  Reading<ClientSnapshot> find(std::span<const std::string> asleep) override {
    scan_.begin(asleep);
    const Nanoseconds now = scan_.snapshot().time;
    // Fetched before the holders are listed: a change in between is reported again by the next call.
    DeviceUsers::Changes changes = holders_.changes();
    std::ranges::sort(changes.processes);
    changes.processes.erase(std::unique(changes.processes.begin(), changes.processes.end()), changes.processes.end());

    const bool lists = !holders_.reports_changes() || changes.some_lost || !listed_ || now - *listed_ >= kListAgain;
    std::vector<std::uint32_t> listed;
    if (lists) {
      auto holders = holders_.list();
      if (!holders) {
        listed_.reset();
        return walk_.find(asleep);
      }
      listed = *std::move(holders);
      listed_ = now;
    }
    follow(listed, changes.processes);
    for (WalkedProcess& process : scan_.memory().processes()) {
      const auto [first, last] = std::equal_range(listed.begin(), listed.end(), process.pid);
      const auto files = static_cast<std::uint64_t>(last - first);
      const bool files_changed = lists && files != process.listed_files;
      if (lists) process.listed_files = files;
      process.must_scan = files_changed || scan_.is_unsettled(process) || ClientScan::has_changed(process) ||
                          std::ranges::binary_search(changes.processes, process.pid);
    }
    if (!scan_.all_asleep()) {
      scan_.read_known();
      scan_.scan_chosen(true);
      scan_.snapshot().oldest_scan = now;
    }
    scan_.snapshot().way = "bpf";
    return scan_.finish();
  }

 private:
  static constexpr Nanoseconds kListAgain = std::chrono::minutes(5);

  // Follows the processes that were known, listed or reported and still run.
  void follow(std::span<const std::uint32_t> listed, std::span<const std::uint32_t> changed) {
    std::vector<std::uint32_t> pids(listed.begin(), listed.end());
    pids.insert(pids.end(), changed.begin(), changed.end());
    for (const WalkedProcess& process : scan_.memory().processes()) pids.push_back(process.pid);
    std::ranges::sort(pids);
    pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
    if (scan_.self()) std::erase(pids, *scan_.self());
    scan_.memory().follow(pids, scan_.snapshot().time);
    std::vector<std::uint32_t>& running = scan_.snapshot().pids;
    for (WalkedProcess& process : scan_.memory().processes()) {
      const auto examined = scan_.examine(process);
      if (examined || examined.is_failure() || examined.absent().reason == Reason::permission)
        running.push_back(process.pid);
    }
    scan_.memory().follow(running, scan_.snapshot().time);
  }

  DeviceUsers& holders_;
  ClientScan scan_;
  ClientWalk walk_;
  std::optional<Nanoseconds> listed_;
};

}  // namespace

std::unique_ptr<ClientFinder> make_client_finder(Machine& machine) {
  if (machine.adapters) return std::make_unique<WddmClients>(machine);
  const ClientWalk::Limits limits{.time = machine.client_scan_limit};
  if (machine.drm_users) return std::make_unique<BpfFinder>(machine, **machine.drm_users, limits);
  return std::make_unique<ClientWalk>(machine, limits);
}

}  // namespace igpu
