// SPDX-License-Identifier: Apache-2.0
#include "collector/workloads/workloads_table.h"

#include <algorithm>
#include <tuple>

namespace igpu {
namespace {

constexpr std::size_t kMostFolded = 65536;

}  // namespace

void WorkloadTable::advance(const Scan& scan) {
  begin_scan();
  assign(scan);
  count_clients(scan);
  count_processes(scan);
  finish(scan);
}

void WorkloadTable::assign(const Scan& scan) {
  members_.clear();
  for (const Owner& owner : scan.owners) members_.emplace(owner.pid, &group_of(owner.labels, scan.snapshot.time));
  for (const TreeProcess& process : scan.processes) {
    const TreeProcess* ancestor = &process;
    auto known = members_.find(process.pid);
    for (std::size_t steps = 0; known == members_.end() && steps < scan.processes.size(); ++steps) {
      ancestor = find_process(scan.processes, ancestor->parent);
      if (ancestor == nullptr) break;
      known = members_.find(ancestor->pid);
    }
    if (known != members_.end()) members_.emplace(process.pid, known->second);
  }
}

const std::string* WorkloadTable::workload_of(std::uint32_t pid) const {
  const auto member = members_.find(pid);
  return member == members_.end() ? nullptr : &member->second->workload.labels.workload;
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

void WorkloadTable::count_clients(const Scan& scan) {
  const auto is_hidden = [&](const std::string& device) {
    return scan.snapshot.clients_of(device).empty() && std::ranges::find(scan.asleep, device) != scan.asleep.end();
  };
  for (const std::string& device : scan.asleep) gains_of(device);  // known from now on: it sleeps, and does no work
  no_clients_.begin_scan(scan.snapshot);
  for (auto& [device, gains] : gains_)
    if (!is_hidden(device)) gains.begin_scan(scan.snapshot);
  for (const DrmClient& client : scan.snapshot.clients) {
    const auto member = members_.find(client.pid);
    if (member != members_.end()) count_client(client, gains_of(client.device).advance(client), *member->second);
  }
  for (auto& [device, gains] : gains_) {
    if (is_hidden(device)) {
      gains.note_sleep(scan.snapshot.time);
    } else {
      gains.end_scan();
    }
  }
  no_clients_.end_scan();
}

void WorkloadTable::count_client(const DrmClient& client, const ClientGains::Use& use, Group& group) {
  Device& device = group.workload.devices[client.device];
  ++device.clients;
  if (use.is_new && use.is_recent) ++group.workload.started;
  add_memory(client, device);
  auto& engines = group.engines[client.device];
  if (engines.empty()) engines.assign(kEngineClasses, ClassState(min_window_));
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const ClientEngine& engine = client.engines[i];
    if (!engine.present()) continue;
    device.shown[i] = true;
    engines[i].capacity = std::max<std::uint32_t>({engines[i].capacity, engine.capacity, 1});
    if (use.steps[i].spoiled) engines[i].window.restart();
    if (use.is_recent) engines[i].time.add(use.steps[i]);
  }
}

void WorkloadTable::add_memory(const DrmClient& client, Device& device) const {
  for (const ClientMemory& region : client.memory)
    for (const MemoryState& state : kMemoryStates)
      if (const auto& bytes = region.*state.value)
        device.memory[{region.region, state.label}] += static_cast<double>(*bytes);
}

void WorkloadTable::count_processes(const Scan& scan) {
  if (!scan.all_processes) return;
  for (auto& [name, group] : groups_) {
    group.workload.resident_bytes = 0;
    group.workload.processes = 0;
  }
  const auto gains = tree_.advance(scan.processes, scan.now_ticks);
  for (std::size_t i = 0; i < scan.processes.size(); ++i) {
    const auto member = members_.find(scan.processes[i].pid);
    if (member == members_.end()) continue;
    Workload& workload = member->second->workload;
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
  awaiting_rate_.clear();
  for (auto& [name, group] : groups_) {
    for (auto& [address, engines] : group.engines) {
      const std::optional<double> hertz = scan.snapshot.hertz(address);
      Device& device = group.workload.devices[address];
      for (std::size_t i = 0; i < kEngineClasses; ++i) {
        ClassState& state = engines[i];
        // Cycles that were kept until the rate was known belong to earlier windows.
        const bool is_converted = state.time.convert(hertz);
        if (!is_converted) {
          state.window.restart();
          awaiting_rate_.insert(address);
        }
        const double busy = state.time.seconds();
        const double gained = busy - device.busy[i];
        device.busy[i] = busy;
        group.recent += gained;
        attributed_[address][i] += gained;
        device.ratio[i].reset();
        if (!device.shown[i] || !is_converted) continue;
        if (const auto delta = state.window.advance(scan.snapshot.time, {state.time.nanoseconds}))
          device.ratio[i] = clamped_ratio(static_cast<double>(delta->counts[0]),
                                          static_cast<double>(delta->elapsed.count()) * state.capacity);
      }
    }
  }
  fold();
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
  for (auto& member : members_)
    if (member.second == &group) member.second = &other;
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
      to[i].time.add(engines[i].time);
      to[i].capacity = std::max(to[i].capacity, engines[i].capacity);
      to[i].window.restart();  // the sum jumped by what was counted before
      device.ratio[i].reset();
      device.busy[i] = to[i].time.seconds();
      device.shown[i] = device.shown[i] || from.shown[i];
    }
  }
}

void WorkloadTable::measured(const std::string& device, const Measured5& busy) {
  if (awaiting_rate_.contains(device)) return;
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
