// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collector/shared/client_engine_counter.h"
#include "collector/shared/clock_rate.h"
#include "source/clients.h"

namespace igpu {

// What the clients of one GPU gain from scan to scan. The rules that all sums over clients share are here:
//   - A client with an id that was given again is another client. Only i915 does that (before Linux 6.5 always, later
//     when the device is bound again), and it counts nanoseconds: a lower count under another holder, which was read or
//     has ended, shows it; after a binding a count that began again does.
//   - A client that is seen for the first time has begun since the last scan, unless it comes with more time than fits
//     since then, or the last scan was cut short and its process is older than the last whole scan: such a client only
//     became visible. So did all clients of the first scan.
//   - One rate of the GPU's clock, learned from all its clients.
//   - A client that is not seen keeps its counts while its process runs (its GPU sleeps, or a scan misses it), and some
//     scans longer, because another process may hold it that the next scans do not visit.
class ClientLedger {
 public:
  struct Use {
    std::array<ClientEngineCounter::Step, kEngineClasses> steps{};  // of a new client: all that it has counted
    bool is_new = false;                                            // seen for the first time
    bool is_recent = true;                                          // all of it was used since the last scan
  };

  // Beyond this many clients that are not seen, only those that may be hidden are kept, for kMostScans.
  static constexpr std::size_t kMostUnseen = 4096;
  // Within this many scans every process is visited (source/client_walk.h).
  static constexpr std::uint64_t kMostScans = 16;

  // A scan: what each client of this GPU has gained, in the order of the snapshot, which stays valid until end_scan().
  void begin_scan(const ClientSnapshot& snapshot);
  Use advance(const DrmClient& client);
  void end_scan();

  // Instead of a scan, while the GPU sleeps: its clients are hidden, its clock stands still, and all work of clients
  // that are new at the next scan is later than this.
  void asleep(Nanoseconds now);
  // i915 may now give the id of a known client to a new one of the same process.
  void device_was_bound();
  // The next scan is a first one. The clock's rate stays known.
  void forget_clients();

  ClockRate& clock() { return clock_; }
  std::optional<Nanoseconds> last_scan() const { return last_scan_; }
  std::size_t remembered_clients() const { return clients_.size(); }

 private:
  struct Client {
    std::array<ClientEngineCounter, kEngineClasses> engines;
    std::uint32_t pid = 0;
    std::uint64_t start_ticks = 0;
    std::uint64_t seen_in = 0;    // number of the scan
    bool before_binding = false;  // not seen since the device was bound
  };

  bool is_another(const Client& known, const DrmClient& client, std::uint64_t start_ticks) const;
  bool has_begun(const DrmClient& client, std::uint64_t start_ticks, const Use& use) const;
  void forget_unseen();

  std::map<std::uint64_t, Client> clients_;  // by drm-client-id
  ClockRate clock_;
  const ClientSnapshot* scan_ = nullptr;  // the current one
  std::uint64_t number_ = 0;
  std::size_t seen_ = 0;                                // clients of the current scan
  std::vector<ClientProcess>::const_iterator process_;  // of the last client
  std::optional<Nanoseconds> last_scan_;
  std::optional<std::uint64_t> complete_ticks_;  // begin of the last complete scan, or of the first scan
  bool last_was_complete_ = false;
};

}  // namespace igpu
