// SPDX-License-Identifier: Apache-2.0
#include "collector/workloads_table.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "collector/shared/memory_states.h"

namespace igpu {
namespace {

constexpr Nanoseconds kRemember = std::chrono::minutes(15);
constexpr std::size_t kMostClients = 65536;
constexpr std::size_t kMostFolded = 65536;

std::uint64_t nanoseconds_of(std::uint64_t cycles, double hertz) {
  return static_cast<std::uint64_t>(std::round(static_cast<double>(cycles) * 1e9 / hertz));
}

const TreeProcess* find_process(std::span<const TreeProcess> processes, std::uint32_t pid) {
  const auto it = std::lower_bound(processes.begin(), processes.end(), pid,
                                   [](const TreeProcess& p, std::uint32_t wanted) { return p.pid < wanted; });
  return it == processes.end() || it->pid != pid ? nullptr : &*it;
}

}  // namespace

void WorkloadTable::advance(const Scan& scan) {
  begin_scan();
  // Every process belongs to the workload of its nearest ancestor that has one.
  std::map<std::uint32_t, Group*> groups;
  const auto own_group = [&](std::uint32_t pid) -> Group* {
    const auto labels = scan.workload_of(pid);
    return labels ? &group_of(*labels, scan.snapshot.time) : nullptr;
  };
  for (const TreeProcess& process : scan.processes) groups.emplace(process.pid, own_group(process.pid));
  for (const ClientProcess& process : scan.snapshot.processes)
    if (!groups.contains(process.pid)) groups.emplace(process.pid, own_group(process.pid));
  for (const TreeProcess& process : scan.processes) {
    const TreeProcess* ancestor = &process;
    Group* group = groups[process.pid];
    for (std::size_t steps = 0; group == nullptr && steps < scan.processes.size(); ++steps) {
      ancestor = find_process(scan.processes, ancestor->parent);
      if (ancestor == nullptr) break;
      group = groups[ancestor->pid];
    }
    groups[process.pid] = group;
  }
  if (scan.found) report_found(scan, groups);
  count_clients(scan, groups);
  count_processes(scan, groups);
  finish(scan);
}

void WorkloadTable::report_found(const Scan& scan, const std::map<std::uint32_t, Group*>& groups) {
  for (const auto& [pid, group] : groups) {
    if (group == nullptr) continue;
    const auto holder = std::lower_bound(scan.snapshot.processes.begin(), scan.snapshot.processes.end(), pid,
                                         [](const ClientProcess& p, std::uint32_t wanted) { return p.pid < wanted; });
    const bool holds_client = holder != scan.snapshot.processes.end() && holder->pid == pid;
    const TreeProcess* const process = holds_client ? nullptr : find_process(scan.processes, pid);
    if (!holds_client && process == nullptr) continue;
    scan.found(pid, holds_client ? holder->start_time_ticks : process->start_ticks, group->workload.labels.workload);
  }
}

void WorkloadTable::begin_scan() {
  for (auto& [name, group] : groups_) {
    group.recent = 0;
    for (auto& [address, device] : group.workload.devices) {
      device.clients = 0;
      device.memory.clear();
    }
  }
}

WorkloadTable::Group& WorkloadTable::make(const WorkloadLabels& labels) {
  const auto [it, is_new] = groups_.try_emplace(labels.workload);
  // A container that was started again keeps its name, and has another id.
  WorkloadLabels& known = it->second.workload.labels;
  if (is_new || known.kind == labels.kind) known = labels;
  return it->second;
}

WorkloadTable::Group& WorkloadTable::group_of(const WorkloadLabels& labels, Nanoseconds now) {
  // Once the list of folded workloads is full, new workloads get no counters of their own.
  const bool no_room = folded_.size() >= kMostFolded && !groups_.contains(labels.workload);
  Group& group = no_room || folded_.contains(labels.workload) ? make({.workload = std::string(kOther)}) : make(labels);
  group.last_active = now;
  return group;
}

void WorkloadTable::count_clients(const Scan& scan, const std::map<std::uint32_t, Group*>& groups) {
  for (const DrmClient& client : scan.snapshot.clients) {
    const auto group = groups.find(client.pid);
    if (group == groups.end() || group->second == nullptr) continue;
    const auto holder = std::lower_bound(scan.snapshot.processes.begin(), scan.snapshot.processes.end(), client.pid,
                                         [](const ClientProcess& p, std::uint32_t wanted) { return p.pid < wanted; });
    const bool known = holder != scan.snapshot.processes.end() && holder->pid == client.pid;
    count_client(client, known ? holder->start_time_ticks : 0, scan, *group->second);
  }
}

// Whether the id now belongs to another client: it has another holder and a lower count (i915 before Linux 6.5 reuses
// ids). Only if the previous holder was read, or has ended.
bool WorkloadTable::is_another(const Client& known, const DrmClient& client, std::uint64_t start_ticks,
                               const ClientSnapshot& snapshot) {
  if (known.pid == client.pid && known.start_ticks == start_ticks) return false;
  if (known.pid != client.pid && !snapshot.complete &&
      std::binary_search(snapshot.pids.begin(), snapshot.pids.end(), known.pid))
    return false;
  for (std::size_t i = 0; i < kEngineClasses; ++i)
    if (client.engines[i].busy_ns && known.engines[i].would_step_back(client.engines[i])) return true;
  return false;
}

void WorkloadTable::count_client(const DrmClient& client, std::uint64_t start_ticks, const Scan& scan, Group& group) {
  const auto [entry, is_unknown] = clients_.try_emplace(ClientKey{client.device, client.id});
  Client& known = entry->second;
  const bool is_new = is_unknown || is_another(known, client, start_ticks, scan.snapshot);
  if (is_new) known = Client{};
  known.pid = client.pid;
  known.start_ticks = start_ticks;
  known.seen = scan.snapshot.time;

  Device& device = group.workload.devices[client.device];
  ++device.clients;
  add_memory(client, device);
  auto& engines = group.engines[client.device];
  if (engines.empty()) engines.assign(kEngineClasses, ClassState(min_window_));
  ClockRate& clock = clocks_[client.device];
  const Nanoseconds elapsed = last_scan_ ? scan.snapshot.time - *last_scan_ : Nanoseconds::zero();

  std::array<ClientEngineCounter::Step, kEngineClasses> steps{};
  bool fits = true;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const ClientEngine& engine = client.engines[i];
    if (!engine.present()) continue;
    device.shown[i] = true;
    engines[i].capacity = std::max<std::uint32_t>({engines[i].capacity, engine.capacity, 1});
    steps[i] = known.engines[i].advance(engine, client.time, clock);
    fits = fits && static_cast<double>(steps[i].gained) <= ClientEngineCounter::most(engine, elapsed, clock);
    if (steps[i].spoiled) engines[i].window.restart();
  }
  const bool is_born = whole_scan_ticks_ && start_ticks >= *whole_scan_ticks_;
  const bool began = is_new && last_scan_ && (is_born || (last_showed_all_ && fits));
  if (began) ++group.workload.started;
  if (is_new && !began) return;
  for (std::size_t i = 0; i < kEngineClasses; ++i)
    (steps[i].in_cycles ? engines[i].cycles : engines[i].nanoseconds) += steps[i].gained;
}

void WorkloadTable::add_memory(const DrmClient& client, Device& device) const {
  for (const ClientMemory& region : client.memory)
    for (const MemoryState& state : kMemoryStates)
      if (const auto& bytes = region.*state.value)
        device.memory[{region.region, state.label}] += static_cast<double>(*bytes);
}

void WorkloadTable::count_processes(const Scan& scan, const std::map<std::uint32_t, Group*>& groups) {
  if (!scan.all_processes) return;
  for (auto& [name, group] : groups_) {
    group.workload.resident_bytes = 0;
    group.workload.processes = 0;
  }
  const auto gains = tree_.advance(scan.processes, scan.now_ticks);
  for (std::size_t i = 0; i < scan.processes.size(); ++i) {
    const auto group = groups.find(scan.processes[i].pid);
    if (group == groups.end() || group->second == nullptr) continue;
    Workload& workload = group->second->workload;
    workload.user_ticks += gains[i].user_ticks;
    workload.system_ticks += gains[i].system_ticks;
    workload.read_bytes += gains[i].read_bytes;
    workload.written_bytes += gains[i].written_bytes;
    workload.disk_known = workload.disk_known || scan.processes[i].read_bytes;
    workload.resident_bytes += scan.processes[i].resident_bytes;
    ++workload.processes;
  }
}

void WorkloadTable::finish(const Scan& scan) {
  for (auto& [name, group] : groups_) {
    for (auto& [address, engines] : group.engines) {
      const auto hertz = clocks_[address].hertz();
      Device& device = group.workload.devices[address];
      for (std::size_t i = 0; i < kEngineClasses; ++i) {
        ClassState& state = engines[i];
        // Cycles that were kept until the rate was known belong to earlier windows.
        if (state.cycles > 0 && !hertz) state.window.restart();
        if (hertz) state.nanoseconds += nanoseconds_of(std::exchange(state.cycles, 0), *hertz);
        const double busy = static_cast<double>(state.nanoseconds) / 1e9;
        const double gained = busy - device.busy[i];
        device.busy[i] = busy;
        group.recent += gained;
        attributed_[address][i] += gained;
        device.ratio[i].reset();
        if (!device.shown[i]) continue;
        if (const auto delta = state.window.advance(scan.snapshot.time, {state.nanoseconds}))
          device.ratio[i] = clamped_ratio(static_cast<double>(delta->counts[0]),
                                          static_cast<double>(delta->elapsed.count()) * state.capacity);
      }
    }
  }
  forget_clients(scan.snapshot);
  fold();
  last_scan_ = scan.snapshot.time;
  if (!whole_scan_ticks_ || scan.snapshot.complete) whole_scan_ticks_ = scan.now_ticks;
  last_showed_all_ = scan.snapshot.complete;
}

// Least use in the last window first; among those without any, the one that was last active the longest time ago.
void WorkloadTable::fold() {
  const bool has_other = groups_.contains(kOther);
  const std::size_t own = groups_.size() - (has_other ? 1 : 0);
  if (own <= most_) return;
  struct Candidate {
    double recent;
    Nanoseconds last_active;
    double ever;
    std::string_view name;
  };
  std::vector<Candidate> candidates;
  for (const auto& [name, group] : groups_) {
    if (name == kOther) continue;
    double ever = 0;
    for (const auto& [address, device] : group.workload.devices)
      for (const double busy : device.busy) ever += busy;
    candidates.push_back({group.recent, group.last_active, ever, name});
  }
  const std::size_t surplus = own - most_;
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(surplus), candidates.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return std::tie(a.recent, a.last_active, a.ever, a.name) <
                             std::tie(b.recent, b.last_active, b.ever, b.name);
                    });
  for (std::size_t i = 0; i < surplus; ++i) {
    const auto it = groups_.find(candidates[i].name);
    fold_into_other(it->second);
    folded_.insert(it->first);
    groups_.erase(it);
  }
}

void WorkloadTable::fold_into_other(Group& group) {
  Group& other = make({.workload = std::string(kOther)});
  Workload& sum = other.workload;
  const Workload& part = group.workload;
  sum.started += part.started;
  sum.user_ticks += part.user_ticks;
  sum.system_ticks += part.system_ticks;
  sum.read_bytes += part.read_bytes;
  sum.written_bytes += part.written_bytes;
  sum.disk_known = sum.disk_known || part.disk_known;
  sum.resident_bytes += part.resident_bytes;
  sum.processes += part.processes;
  for (const auto& [address, engines] : group.engines) {
    auto& to = other.engines[address];
    if (to.empty()) to.assign(kEngineClasses, ClassState(min_window_));
    Device& device = sum.devices[address];
    const Device& from = part.devices.at(address);
    device.clients += from.clients;
    for (const auto& [key, bytes] : from.memory) device.memory[key] += bytes;
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      to[i].nanoseconds += engines[i].nanoseconds;
      to[i].cycles += engines[i].cycles;
      to[i].capacity = std::max(to[i].capacity, engines[i].capacity);
      to[i].window.restart();  // the sum jumped by what was counted before
      device.ratio[i].reset();
      device.busy[i] = static_cast<double>(to[i].nanoseconds) / 1e9;
      device.shown[i] = device.shown[i] || from.shown[i];
    }
  }
}

// Clients of running processes may be hidden for as long as their GPU sleeps.
void WorkloadTable::forget_clients(const ClientSnapshot& snapshot) {
  const bool crowded = clients_.size() > kMostClients;
  std::erase_if(clients_, [&](const auto& entry) {
    const Client& client = entry.second;
    if (client.seen == snapshot.time) return false;
    const bool lives = std::binary_search(snapshot.pids.begin(), snapshot.pids.end(), client.pid);
    return (snapshot.time - client.seen > kRemember && !lives) || crowded;
  });
}

bool WorkloadTable::awaits_rate(const std::string& device) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](const auto& entry) {
    const auto engines = entry.second.engines.find(device);
    return engines != entry.second.engines.end() &&
           std::any_of(engines->second.begin(), engines->second.end(),
                       [](const ClassState& state) { return state.cycles > 0; });
  });
}

void WorkloadTable::measured(const std::string& device, const Measured5& busy) {
  if (awaits_rate(device)) return;
  const Seconds5& attributed = attributed_[device];
  auto& beginnings = beginnings_[device];
  Measured5& rest = unattributed_[device];
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    if (!busy[i]) continue;
    Beginning& beginning = beginnings[i];
    if (!beginning.measured) beginning = {*busy[i], attributed[i]};
    // Uses counts since the beginning, so that the next scan makes up for what one scan reads late.
    rest[i] = std::max(rest[i].value_or(0), *busy[i] - *beginning.measured - (attributed[i] - beginning.attributed));
  }
}

std::vector<const WorkloadTable::Workload*> WorkloadTable::workloads() const {
  std::vector<const Workload*> all;
  all.reserve(groups_.size());
  for (const auto& [name, group] : groups_) all.push_back(&group.workload);
  return all;
}

}  // namespace igpu
