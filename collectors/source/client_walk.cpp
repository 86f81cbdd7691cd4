// SPDX-License-Identifier: Apache-2.0
#include "source/client_walk.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/scan.h"
#include "source/client_files.h"
#include "source/client_snapshot.h"
#include "source/numbered_path.h"
#include "source/walk_memory.h"

namespace igpu {
namespace {

std::optional<std::uint32_t> scan_pid(std::string_view name) {
  if (name.empty() || name.front() < '0' || name.front() > '9') return std::nullopt;  // most of /proc is not a PID
  return scan_integer<std::uint32_t>(name);
}

}  // namespace

struct ClientWalk::State {
  State(Machine& the_machine, Limits the_limits) : machine(the_machine), limits(the_limits), users(the_machine.names) {}

  Reading<ClientSnapshot> walk(std::span<const std::string> asleep);
  Reading<Unit> list_processes();
  bool pids_are_hidden() const;
  void plan();
  bool examine_others();
  bool has_changed(const WalkedProcess& process) const;
  void examine(WalkedProcess& process) const;
  std::uint64_t descriptor_numbers(std::uint32_t pid) const;
  void read(const SleepingGpus& gpus);
  bool read_known(ClientFileReader& reader);
  bool scan(ClientFileReader& reader, WalkedProcess& process);
  void sum_up();

  Machine& machine;
  const Limits limits;
  UserNames users;

  // Kept from walk to walk.
  WalkMemory memory;
  std::uint64_t number = 0;
  std::uint32_t examine_from = 0;  // PID
  std::size_t usual_clients = 0;

  // State of the current walk.
  ClientSnapshot snapshot;
  Nanoseconds deadline{};
  std::optional<std::uint32_t> self;  // our own PID. A captured tree does not show it
  bool counts_descriptors = false;    // the size of /proc/<pid>/fd
};

ClientWalk::ClientWalk(Machine& machine, Limits limits) : state_(std::make_unique<State>(machine, limits)) {}
ClientWalk::~ClientWalk() = default;

Reading<ClientSnapshot> ClientWalk::find(std::span<const std::string> asleep) { return state_->walk(asleep); }

Reading<ClientSnapshot> ClientWalk::State::walk(std::span<const std::string> asleep) {
  ++number;
  snapshot = ClientSnapshot{};
  snapshot.time = machine.clock.now();
  deadline = snapshot.time + limits.time;
  snapshot.clients.reserve(usual_clients);
  const SleepingGpus gpus(machine.sys, asleep);

  if (const auto listed = list_processes(); !listed) return listed.propagate<ClientSnapshot>();
  snapshot.pids_hidden = pids_are_hidden();

  // While all Intel GPUs sleep there is no client to find.
  if (!(gpus.guarding() && gpus.nobody_awake())) {
    plan();
    read(gpus);
    sum_up();
  }
  usual_clients = snapshot.clients.size();
  keep_one_holder_each(snapshot);
  snapshot.duration = machine.clock.now() - snapshot.time;
  return std::move(snapshot);
}

Reading<Unit> ClientWalk::State::list_processes() {
  const auto own = machine.proc.read_link("self");
  self = own ? scan_pid(*own) : std::nullopt;
  auto& pids = snapshot.pids;
  auto listed = machine.proc.for_each(".", [&pids](std::string_view name) {
    if (const auto pid = scan_pid(name)) pids.push_back(*pid);
    return true;
  });
  std::sort(pids.begin(), pids.end());
  std::vector<std::uint32_t> others = pids;
  if (self) std::erase(others, *self);
  memory.follow(others, snapshot.time);
  return listed;
}

// A live procfs whose process 2 is not the kernel's is that of a container, or hides foreign processes (mount option
// hidepid).
bool ClientWalk::State::pids_are_hidden() const {
  if (!self) return false;
  std::array<char, 64> buffer;
  const auto comm = machine.proc.read_start("2/comm", buffer);
  return !comm || trim(*comm) != "kthreadd";
}

// What shows without looking at a process that it must be scanned.
void ClientWalk::State::plan() {
  const auto own = self ? machine.proc.stat("self/fd") : Reading<FileFacts>(Absent{Reason::kernel, 0});
  counts_descriptors = own && own->size > 0;
  for (WalkedProcess& process : memory.processes()) {
    process.examined = false;
    const bool lost_some = process.lost_in > 0 && number - process.lost_in < kMostWalks;
    process.must_scan = !self || process.inode == 0 || process.scans < 2 || process.resume_at > 0 ||
                        process.clients.left_out > 0 || lost_some;
  }
  memory.choose_oldest(number, kMostWalks);
}

// The other processes, each in turn. Takes half of the time at most: the other half is for the scans. False: the next
// walk goes on where this one stopped.
bool ClientWalk::State::examine_others() {
  const Nanoseconds end = deadline - limits.time / 2;
  const auto processes = memory.processes();
  const auto first =
      std::lower_bound(processes.begin(), processes.end(), examine_from,
                       [](const WalkedProcess& process, std::uint32_t pid) { return process.pid < pid; });
  const auto offset = static_cast<std::size_t>(first - processes.begin());
  examine_from = 0;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    WalkedProcess& process = processes[(offset + i) % processes.size()];
    if (process.must_scan || process.examined) continue;
    if (machine.clock.now() >= end) {
      examine_from = process.pid;
      return false;
    }
    examine(process);
    process.must_scan = has_changed(process);
  }
  return true;
}

// One system call for a process that did not change, from Linux 6.2.
void ClientWalk::State::examine(WalkedProcess& process) const {
  process.examined = true;
  process.inode_now = 0;
  process.descriptors_now = 0;
  if (!self) return;
  const auto facts = machine.proc.stat(NumberedPath({}, process.pid, "/fd"));
  if (!facts) return;
  process.inode_now = facts->inode;
  process.descriptors_now = counts_descriptors ? facts->size : descriptor_numbers(process.pid);
}

// A hash of them.
std::uint64_t ClientWalk::State::descriptor_numbers(std::uint32_t pid) const {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  (void)machine.proc.for_each(NumberedPath({}, pid, "/fdinfo"), [&hash](std::string_view name) {
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    hash = (hash ^ '/') * 1099511628211U;
    return true;
  });
  return hash;
}

bool ClientWalk::State::has_changed(const WalkedProcess& process) const {
  return process.inode_now == 0 || process.inode_now != process.inode || process.descriptors_now != process.descriptors;
}

void ClientWalk::State::read(const SleepingGpus& gpus) {
  ClientFileReader reader(machine, users, {snapshot, gpus, deadline, self.has_value()});
  snapshot.complete = read_known(reader);
  // A walk that has no time for all processes still scans some.
  const bool examined_all = !snapshot.complete || examine_others();
  const std::vector<WalkedProcess*> chosen = memory.to_scan(self.has_value());
  // A process whose scan was cut short: its remaining descriptors first, then the whole process again at the end.
  WalkedProcess* const half = !chosen.empty() && chosen.front()->resume_at > 0 ? chosen.front() : nullptr;
  for (WalkedProcess* process : chosen) snapshot.complete = snapshot.complete && scan(reader, *process);
  if (half) snapshot.complete = snapshot.complete && scan(reader, *half);
  snapshot.complete = snapshot.complete && examined_all;
}

// The clients of processes that need no scan. False: the time limit was reached.
bool ClientWalk::State::read_known(ClientFileReader& reader) {
  for (WalkedProcess& process : memory.processes()) {
    if (process.must_scan || !process.holds_clients()) continue;
    examine(process);
    process.must_scan = has_changed(process);
    if (process.must_scan) continue;
    bool changed = false;
    const std::size_t clients = snapshot.clients.size();
    const std::size_t processes = snapshot.processes.size();
    if (!reader.read_known(process.pid, process.clients, changed)) return false;
    if (!changed) continue;
    snapshot.clients.resize(clients);
    snapshot.processes.resize(processes);
    process.must_scan = true;
  }
  return true;
}

// False: the time limit was reached.
bool ClientWalk::State::scan(ClientFileReader& reader, WalkedProcess& process) {
  const Nanoseconds begin = machine.clock.now();
  if (begin >= deadline) return false;
  if (!process.examined) examine(process);
  const std::size_t skip = process.resume_at;
  std::size_t visited = 0;
  const std::size_t files_before = process.clients.files.size();
  const bool whole = reader.read_all(process.pid, process.clients, skip, visited);
  process.resume_at = whole ? 0 : visited;
  if (!whole) return false;
  process.scans = process.inode == process.inode_now ? std::min(process.scans + 1, 2U) : 1;
  process.inode = process.inode_now;
  process.descriptors = process.descriptors_now;
  process.scanned_in = number;
  if (process.clients.files.size() < files_before) process.lost_in = number;
  if (skip == 0) process.scanned = begin;
  return true;
}

void ClientWalk::State::sum_up() {
  Nanoseconds oldest = snapshot.time;
  for (const WalkedProcess& process : memory.processes()) {
    if (process.scans > 0) ++snapshot.processes_seen;
    if (process.clients.denied) ++snapshot.processes_denied;
    snapshot.blocks_skipped += process.clients.skipped;
    snapshot.files_left_out += process.clients.left_out;
    oldest = std::min(oldest, process.scanned);
  }
  snapshot.oldest_scan = oldest;
}

}  // namespace igpu
