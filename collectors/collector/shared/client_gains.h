// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "igpu/units.h"
#include "kernel/clients/client_ledger.h"
#include "kernel/clients/clients.h"

namespace igpu {

// What the clients of one GPU have gained since the last scan that one reader has seen. The ledger counts every scan
// (kernel/clients/client_ledger.h); a reader may miss some, and gets what was gained in all of them.
//
// A client that is seen for the first time counts as begun since the last scan. Exceptions only became visible: a
// client with more time than can have passed since that scan; a client of a process older than the last complete scan,
// if the last scan was incomplete; and all clients of the first scan.
class ClientGains {
 public:
  struct Step {
    std::uint64_t gained = 0;  // as ClientCount
    std::uint64_t moved = 0;
    bool in_cycles = false;  // unit of gained and moved: cycles or nanoseconds
    bool spoiled = false;    // this window has no ratio
  };
  struct Use {
    std::array<Step, kEngineClasses> steps{};  // for a new client: all that it has counted
    bool is_new = false;                       // seen for the first time
    bool is_recent = true;                     // all of it was used since the last scan
  };

  // The snapshot must stay valid until end_scan().
  void begin_scan(const ClientSnapshot& snapshot) { scan_ = &snapshot; }
  Use advance(const DrmClient& client) {
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
  void end_scan() {
    last_scan_ = scan_->time;
    last_was_complete_ = scan_->complete;
    if (!complete_ticks_ || scan_->complete) complete_ticks_ = scan_->boot_ticks;
  }

  // Called instead of a scan while the GPU sleeps and its clients are hidden: all work of clients that are new at the
  // next scan is later than `now`.
  void note_sleep(Nanoseconds now) {
    if (!last_scan_) last_was_complete_ = true;
    last_scan_ = now;
  }
  // Makes the next scan a first scan.
  void forget_clients() {
    seen_.clear();
    last_scan_.reset();
    complete_ticks_.reset();  // whoever measured meanwhile has counted clients that have begun since then
    last_was_complete_ = false;
  }

  std::optional<Nanoseconds> last_scan() const { return last_scan_; }

 private:
  struct Seen {
    std::uint64_t serial = 0;
    std::array<ClientCount, kEngineClasses> counts{};
  };

  bool has_begun(const DrmClient& client, const Use& use) const {
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

  const ClientSnapshot* scan_ = nullptr;  // the current one
  std::vector<Seen> seen_;                // indexed by DrmClient::slot
  std::optional<Nanoseconds> last_scan_;
  std::optional<std::uint64_t> complete_ticks_;  // begin of the last complete scan, or of the first scan
  bool last_was_complete_ = false;
};

// Engine time that only grows: what the clients of an owner gained. Cycles wait until the rate of their clock is known.
struct EngineTime {
  std::uint64_t nanoseconds = 0;
  std::uint64_t waiting_cycles = 0;

  void add(const ClientGains::Step& step) { (step.in_cycles ? waiting_cycles : nanoseconds) += step.gained; }
  void add(const EngineTime& other) {
    nanoseconds += other.nanoseconds;
    waiting_cycles += other.waiting_cycles;
  }
  // Converts waiting cycles to nanoseconds. False: the rate is not known, and cycles are still waiting.
  bool convert(std::optional<double> hertz) {
    if (waiting_cycles == 0) return true;
    if (!hertz) return false;
    const double cycles = static_cast<double>(std::exchange(waiting_cycles, 0));
    nanoseconds += static_cast<std::uint64_t>(std::llround(cycles * 1e9 / *hertz));
    return true;
  }
  double seconds() const { return static_cast<double>(nanoseconds) / 1e9; }
};

}  // namespace igpu
