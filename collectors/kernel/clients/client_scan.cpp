// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/client_scan.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/scan.h"

namespace igpu {

namespace {

// Scans of a process that lost a client: the kernel may only have failed to show it.
constexpr unsigned kWalksAfterLoss = 16;

// Keeps each client once. Several processes may hold a client (inherited or passed descriptors); it stays with the
// lowest PID. Sorts clients and processes.
template <class Client>
void keep_one_holder_each(std::vector<Client>& clients) {
  std::ranges::sort(clients, [](const Client& a, const Client& b) {
    return std::tie(a.device, a.id, a.pid) < std::tie(b.device, b.id, b.pid);
  });
  clients.erase(std::unique(clients.begin(), clients.end(),
                            [](const Client& a, const Client& b) { return a.id == b.id && a.device == b.device; }),
                clients.end());
  std::ranges::sort(clients, [](const Client& a, const Client& b) {
    return std::tie(a.device, a.pid, a.id) < std::tie(b.device, b.pid, b.id);
  });
}

void keep_one_holder_each(ClientSnapshot& snapshot) {
  keep_one_holder_each(snapshot.npu_clients);
  auto& clients = snapshot.clients;
  keep_one_holder_each(clients);
  auto& processes = snapshot.processes;
  std::ranges::sort(processes, {}, &ClientProcess::pid);
  processes.erase(std::unique(processes.begin(), processes.end(),
                              [](const ClientProcess& a, const ClientProcess& b) { return a.pid == b.pid; }),
                  processes.end());
  // Processes whose clients all belong to other processes hold none.
  std::vector<std::uint32_t> holders;
  holders.reserve(clients.size());
  for (const DrmClient& client : clients) holders.push_back(client.pid);
  std::ranges::sort(holders);
  std::erase_if(processes,
                [&](const ClientProcess& process) { return !std::ranges::binary_search(holders, process.pid); });
}

}  // namespace

void ClientScan::begin(std::span<const std::string> asleep) {
  ++number_;
  snapshot_ = ClientSnapshot{};
  snapshot_.time = machine_.clock.now();
  if (const auto now = machine_.clock.boot_now())
    snapshot_.boot_ticks = static_cast<std::uint64_t>(*now / kStartTimeTick);
  deadline_ = snapshot_.time + limit_;
  snapshot_.clients.reserve(usual_clients_);
  gpus_ = SleepingGpus(machine_.sys, asleep);
  const auto own = machine_.proc.read_link("self");
  self_ = own ? scan_integer<std::uint32_t>(*own) : std::nullopt;
  snapshot_.pids_hidden = self_ && !shows_all_processes(machine_.proc);
  const auto descriptors = self_ ? machine_.proc.stat("self/fd") : Reading<FileFacts>(Absent{Reason::kernel, 0});
  counts_descriptors_ = descriptors && descriptors->size > 0;
  for (WalkedProcess& process : memory_.processes()) process.examined = false;
}

bool ClientScan::is_unsettled(const WalkedProcess& process) const {
  const bool lost_some = process.lost_in > 0 && number_ - process.lost_in < kWalksAfterLoss;
  return !self_ || process.inode == 0 || process.scans == 0 || process.resume_at > 0 || process.clients.left_out > 0 ||
         lost_some;
}

// One system call for a process that did not change, from Linux 6.2.
Reading<Unit> ClientScan::examine(WalkedProcess& process) const {
  process.examined = true;
  process.inode_now = 0;
  process.descriptors_now = 0;
  if (!self_) return Unit{};
  const auto facts = machine_.proc.stat(NumberedPath({}, process.pid, "/fd"));
  if (!facts) return facts.propagate<Unit>();
  process.inode_now = facts->inode;
  process.descriptors_now = counts_descriptors_ ? facts->size : descriptor_numbers(process.pid);
  return Unit{};
}

// A hash of them.
std::uint64_t ClientScan::descriptor_numbers(std::uint32_t pid) const {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  (void)machine_.proc.for_each(NumberedPath({}, pid, "/fdinfo"), [&hash](std::string_view name) {
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    hash = (hash ^ '/') * 1099511628211U;
    return true;
  });
  return hash;
}

bool ClientScan::has_changed(const WalkedProcess& process) {
  return process.inode_now == 0 || process.inode_now != process.inode || process.descriptors_now != process.descriptors;
}

ClientFileReader ClientScan::reader() {
  return ClientFileReader(machine_, users_, {snapshot_, gpus_, deadline_, self_.has_value()});
}

void ClientScan::read_known() {
  ClientFileReader files = reader();
  for (WalkedProcess& process : memory_.processes()) {
    if (process.must_scan || !process.holds_clients()) continue;
    if (!process.examined) (void)examine(process);
    process.must_scan = has_changed(process);
    if (process.must_scan) continue;
    snapshot_.complete = read_known(files, process);
    if (!snapshot_.complete) return;
  }
}

// False: the time limit was reached.
bool ClientScan::read_known(ClientFileReader& files, WalkedProcess& process) {
  bool changed = false;
  const std::size_t clients = snapshot_.clients.size();
  const std::size_t npu_clients = snapshot_.npu_clients.size();
  const std::size_t processes = snapshot_.processes.size();
  if (!files.read_known(process.pid, process.clients, changed)) return false;
  if (changed) {
    snapshot_.clients.resize(clients);
    snapshot_.npu_clients.resize(npu_clients);
    snapshot_.processes.resize(processes);
    process.must_scan = true;
  }
  return true;
}

void ClientScan::scan_chosen(bool all_examined) {
  ClientFileReader files = reader();
  const std::vector<WalkedProcess*> chosen = memory_.to_scan(self_.has_value());
  // A process whose scan was cut short: its remaining descriptors first, then the whole process again at the end.
  WalkedProcess* const half = !chosen.empty() && chosen.front()->resume_at > 0 ? chosen.front() : nullptr;
  for (WalkedProcess* process : chosen) snapshot_.complete = snapshot_.complete && scan(files, *process);
  if (half) snapshot_.complete = snapshot_.complete && scan(files, *half);
  snapshot_.complete = snapshot_.complete && all_examined;
  sum_up();
}

// False: the time limit was reached.
bool ClientScan::scan(ClientFileReader& reader, WalkedProcess& process) {
  const Nanoseconds begin = machine_.clock.now();
  if (begin >= deadline_) return false;
  if (!process.examined) (void)examine(process);
  const std::size_t skip = process.resume_at;
  std::size_t visited = 0;
  const std::size_t files_before = process.clients.files.size();
  const bool whole = reader.read_all(process.pid, process.clients, skip, visited);
  process.resume_at = whole ? 0 : visited;
  if (!whole) return false;
  // Processes of the first walk have run before; one that came later may still be opening its files.
  const bool known_before = number_ == 1 || process.inode == process.inode_now;
  process.scans = known_before ? 2 : 1;
  process.inode = process.inode_now;
  process.descriptors = process.descriptors_now;
  process.scanned_in = number_;
  if (process.clients.files.size() < files_before) process.lost_in = number_;
  if (skip == 0) process.scanned = begin;
  return true;
}

void ClientScan::sum_up() {
  Nanoseconds oldest = snapshot_.time;
  for (const WalkedProcess& process : memory_.processes()) {
    if (process.scans > 0) ++snapshot_.processes_seen;
    if (process.clients.denied) ++snapshot_.processes_denied;
    snapshot_.blocks_skipped += process.clients.skipped;
    snapshot_.files_left_out += process.clients.left_out;
    snapshot_.npu_files_silent += process.clients.silent;
    oldest = std::min(oldest, process.scanned);
  }
  snapshot_.oldest_scan = oldest;
}

ClientSnapshot ClientScan::finish() {
  usual_clients_ = snapshot_.clients.size();
  keep_one_holder_each(snapshot_);
  snapshot_.duration = machine_.clock.now() - snapshot_.time;
  return std::move(snapshot_);
}

void WalkMemory::follow(std::span<const std::uint32_t> pids, Nanoseconds now) {
  std::vector<WalkedProcess> next;
  next.reserve(pids.size());
  auto known = processes_.begin();
  for (const std::uint32_t pid : pids) {
    while (known != processes_.end() && known->pid < pid) ++known;
    if (known != processes_.end() && known->pid == pid) {
      next.push_back(std::move(*known));
    } else {
      WalkedProcess process;
      process.pid = pid;
      process.scanned = now;
      next.push_back(std::move(process));
    }
  }
  processes_ = std::move(next);
}

void WalkMemory::choose_oldest(std::uint64_t walk, unsigned walks) {
  std::vector<WalkedProcess*> candidates;
  for (WalkedProcess& process : processes_)
    if (!process.must_scan) candidates.push_back(&process);
  const std::size_t share = (candidates.size() + walks - 1) / walks;
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(share);
  std::nth_element(candidates.begin(), end, candidates.end(), [](const WalkedProcess* a, const WalkedProcess* b) {
    return std::tie(a->scanned_in, a->pid) < std::tie(b->scanned_in, b->pid);
  });
  std::for_each(candidates.begin(), end, [](WalkedProcess* process) { process->must_scan = true; });
  std::for_each(end, candidates.end(),
                [&](WalkedProcess* process) { process->must_scan = walk - process->scanned_in >= walks; });
}

std::vector<WalkedProcess*> WalkMemory::to_scan(bool holders_first) {
  std::vector<WalkedProcess*> chosen;
  for (WalkedProcess& process : processes_)
    if (process.must_scan) chosen.push_back(&process);
  const auto rank = [holders_first](const WalkedProcess* process) {
    // A scan that was cut short goes on first.
    return std::tuple(process->resume_at == 0, holders_first && !process->holds_clients(), process->scanned_in);
  };
  std::ranges::stable_sort(chosen,
                           [&rank](const WalkedProcess* a, const WalkedProcess* b) { return rank(a) < rank(b); });
  return chosen;
}

}  // namespace igpu
