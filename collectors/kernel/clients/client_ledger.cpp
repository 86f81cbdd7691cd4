// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/client_ledger.h"

#include <utility>

namespace igpu {

// An incomplete scan may show a shared client under any of its holders.
bool ClientLedger::is_another(const ClientSnapshot& snapshot, const Client& known, const DrmClient& client,
                              std::uint64_t start_ticks) {
  const bool same_holder = known.pid == client.pid && known.start_ticks == start_ticks;
  if (same_holder && !known.before_binding) return false;
  if (known.pid != client.pid && !snapshot.complete && snapshot.runs(known.pid)) return false;
  for (std::size_t i = 0; i < kEngineClasses; ++i)
    if (known.engines[i].would_step_back(client.engines[i], same_holder)) return true;
  return false;
}

ClientLedger::Client& ClientLedger::client_of(const ClientSnapshot& snapshot, const DrmClient& client,
                                              std::uint64_t start_ticks) {
  const auto [entry, is_unknown] = clients_.try_emplace(client.id);
  Client& known = entry->second;
  if (!is_unknown && !is_another(snapshot, known, client, start_ticks)) return known;
  std::size_t slot = known.slot;
  if (is_unknown && free_slots_.empty()) {
    slot = clients_.size() - 1;  // all slots below are taken
  } else if (is_unknown) {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  known = Client{};
  known.slot = slot;
  known.serial = ++last_serial_;
  return known;
}

void ClientLedger::count(const ClientSnapshot& snapshot, std::span<DrmClient> clients, ClockRate& clock) {
  ++number_;
  std::size_t seen = 0;
  auto process = snapshot.processes.begin();
  for (DrmClient& client : clients) {
    while (process != snapshot.processes.end() && process->pid < client.pid) ++process;
    const bool is_found = process != snapshot.processes.end() && process->pid == client.pid;
    const std::uint64_t start_ticks = is_found ? process->start_time_ticks : 0;
    Client& known = client_of(snapshot, client, start_ticks);
    known.pid = client.pid;
    known.start_ticks = start_ticks;
    if (std::exchange(known.seen_in, number_) != number_) ++seen;
    known.before_binding = false;
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      if (!client.engines[i].present()) continue;
      const ClientEngineCounter::Step step = known.engines[i].advance(client.engines[i], client.time, clock);
      known.counts[i].gained += step.gained;
      known.counts[i].moved += step.moved;
      known.counts[i].spoiled += step.spoiled ? 1 : 0;
    }
    client.serial = known.serial;
    client.slot = known.slot;
    client.counts = known.counts;
  }
  forget_unseen(snapshot, seen);
}

void ClientLedger::forget_unseen(const ClientSnapshot& snapshot, std::size_t seen) {
  if (clients_.size() == seen) return;
  const bool crowded = clients_.size() - seen > kMostUnseen;
  const bool shows_all = snapshot.complete && snapshot.blocks_skipped == 0 && snapshot.files_left_out == 0;
  std::erase_if(clients_, [&](const auto& entry) {
    const Client& client = entry.second;
    const std::uint64_t scans = number_ - client.seen_in;
    const bool long_unseen = scans > kMostScans;
    const bool has_ended = shows_all && long_unseen && !snapshot.runs(client.pid);
    const bool gives_way = crowded && scans > 1 && (shows_all || long_unseen || !snapshot.runs(client.pid));
    if (!has_ended && !gives_way) return false;
    free_slots_.push_back(client.slot);
    return true;
  });
}

void ClientLedger::device_was_bound() {
  for (auto& [id, client] : clients_) client.before_binding = true;
}

void ClientLedgers::count(ClientSnapshot& snapshot, std::span<const Gpu> gpus,
                          std::span<const std::string> asleep_gpus) {
  for (const Gpu& gpu : gpus) {
    Device& device = devices_[gpu.address];
    const auto before = std::exchange(device.binding, gpu.binding);
    if (!before || *before == gpu.binding) continue;
    device.ledger.device_was_bound();
    pause_clock(gpu.address);  // the clock of the new binding may begin again
  }
  for (std::size_t i = 0; i < snapshot.clients.size(); ++i)
    if (i == 0 || snapshot.clients[i].device != snapshot.clients[i - 1].device)
      devices_.try_emplace(snapshot.clients[i].device);
  for (auto& [address, counted] : devices_) {
    // Not equal_range: clang 14 makes no span of what it returns.
    const std::span<DrmClient> clients(std::ranges::lower_bound(snapshot.clients, address, {}, &DrmClient::device),
                                       std::ranges::upper_bound(snapshot.clients, address, {}, &DrmClient::device));
    if (clients.empty() && std::ranges::find(asleep_gpus, address) != asleep_gpus.end()) {
      pause_clock(address);
      continue;
    }
    clocks_->use(address, [&, &device = counted](ClockRate& clock) { device.ledger.count(snapshot, clients, clock); });
  }
  snapshot.clocks = clocks_;
}

}  // namespace igpu
