// SPDX-License-Identifier: Apache-2.0
#include "collector/shared/client_ledger.h"

namespace igpu {

void ClientLedger::begin_scan(const ClientSnapshot& snapshot) {
  scan_ = &snapshot;
  ++number_;
  seen_ = 0;
  process_ = snapshot.processes.begin();
}

ClientLedger::Use ClientLedger::advance(const DrmClient& client) {
  const auto [entry, is_unknown] = clients_.try_emplace(client.id);
  Client& known = entry->second;
  const auto end = scan_->processes.end();
  while (process_ != end && process_->pid < client.pid) ++process_;
  const std::uint64_t start_ticks = process_ != end && process_->pid == client.pid ? process_->start_time_ticks : 0;
  Use use;
  use.is_new = is_unknown || is_another(known, client, start_ticks);
  if (use.is_new) known = Client{};
  known.pid = client.pid;
  known.start_ticks = start_ticks;
  if (known.seen_in != number_) ++seen_;
  known.seen_in = number_;
  known.before_binding = false;
  for (std::size_t i = 0; i < kEngineClasses; ++i)
    if (client.engines[i].present()) use.steps[i] = known.engines[i].advance(client.engines[i], client.time, clock_);
  use.is_recent = !use.is_new || has_begun(client, start_ticks, use);
  return use;
}

void ClientLedger::end_scan() {
  forget_unseen();
  last_scan_ = scan_->time;
  last_was_complete_ = scan_->complete;
  if (!complete_ticks_ || scan_->complete) complete_ticks_ = scan_->boot_ticks;
}

// An incomplete scan may show a shared client under any of its holders.
bool ClientLedger::is_another(const Client& known, const DrmClient& client, std::uint64_t start_ticks) const {
  const bool same_holder = known.pid == client.pid && known.start_ticks == start_ticks;
  if (same_holder && !known.before_binding) return false;
  if (known.pid != client.pid && !scan_->complete && scan_->runs(known.pid)) return false;
  for (std::size_t i = 0; i < kEngineClasses; ++i)
    if (known.engines[i].would_step_back(client.engines[i], same_holder)) return true;
  return false;
}

bool ClientLedger::has_begun(const DrmClient& client, std::uint64_t start_ticks, const Use& use) const {
  if (!last_scan_) return false;
  if (complete_ticks_ && start_ticks >= *complete_ticks_) return true;
  if (!last_was_complete_) return false;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const double most = ClientEngineCounter::most(client.engines[i], scan_->time - *last_scan_, clock_);
    if (static_cast<double>(use.steps[i].gained) > most) return false;
  }
  return true;
}

void ClientLedger::forget_unseen() {
  if (clients_.size() == seen_) return;
  const bool crowded = clients_.size() - seen_ > kMostUnseen;
  const bool shows_all = scan_->complete && scan_->blocks_skipped == 0 && scan_->files_left_out == 0;
  std::erase_if(clients_, [&](const auto& entry) {
    const Client& client = entry.second;
    const std::uint64_t scans = number_ - client.seen_in;
    const bool long_unseen = scans > kMostScans;
    if (crowded) return scans > 1 && (shows_all || long_unseen || !scan_->runs(client.pid));
    return shows_all && long_unseen && !scan_->runs(client.pid);
  });
}

void ClientLedger::asleep(Nanoseconds now) {
  clock_.pause();
  if (!last_scan_) last_was_complete_ = true;
  last_scan_ = now;
}

void ClientLedger::device_was_bound() {
  for (auto& [id, client] : clients_) client.before_binding = true;
  clock_.pause();
}

void ClientLedger::forget_clients() {
  clients_.clear();
  last_scan_.reset();
  complete_ticks_.reset();  // whoever measured meanwhile has counted clients that have begun since then
  last_was_complete_ = false;
}

}  // namespace igpu
