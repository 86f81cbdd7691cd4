// SPDX-License-Identifier: Apache-2.0
#include "collector/shared/client_gains.h"

#include "kernel/clients/client_ledger.h"

namespace igpu {

ClientGains::Use ClientGains::advance(const DrmClient& client) {
  if (seen_.size() <= client.slot) seen_.resize(client.slot + 1);
  Seen& seen = seen_[client.slot];
  Use use;
  use.is_new = seen.serial != client.serial;
  if (use.is_new) seen = {client.serial, {}};
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    if (!client.engines[i].present()) continue;
    const ClientCount& now = client.counts[i];
    const ClientCount& before = seen.counts[i];
    use.steps[i] = {now.gained - before.gained, now.moved - before.moved, client.engines[i].in_cycles(),
                    !use.is_new && now.spoiled != before.spoiled};
  }
  seen.counts = client.counts;
  use.is_recent = !use.is_new || has_begun(client, use);
  return use;
}

void ClientGains::end_scan() {
  last_scan_ = scan_->time;
  last_was_complete_ = scan_->complete;
  if (!complete_ticks_ || scan_->complete) complete_ticks_ = scan_->boot_ticks;
}

bool ClientGains::has_begun(const DrmClient& client, const Use& use) const {
  if (!last_scan_) return false;
  const ClientProcess* const process = scan_->process(client.pid);
  if (complete_ticks_ && process && process->start_time_ticks >= *complete_ticks_) return true;
  if (!last_was_complete_) return false;
  const std::optional<double> hertz = scan_->hertz(client.device);
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    const double most = ClientEngineCounter::most(client.engines[i], scan_->time - *last_scan_, hertz);
    if (static_cast<double>(use.steps[i].gained) > most) return false;
  }
  return true;
}

void ClientGains::note_sleep(Nanoseconds now) {
  if (!last_scan_) last_was_complete_ = true;
  last_scan_ = now;
}

void ClientGains::forget_clients() {
  seen_.clear();
  last_scan_.reset();
  complete_ticks_.reset();  // whoever measured meanwhile has counted clients that have begun since then
  last_was_complete_ = false;
}

}  // namespace igpu
