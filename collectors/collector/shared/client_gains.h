// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "igpu/units.h"
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
  Use advance(const DrmClient& client);
  void end_scan();

  // Called instead of a scan while the GPU sleeps and its clients are hidden: all work of clients that are new at the
  // next scan is later than `now`.
  void note_sleep(Nanoseconds now);
  // Makes the next scan a first scan.
  void forget_clients();

  std::optional<Nanoseconds> last_scan() const { return last_scan_; }

 private:
  struct Seen {
    std::uint64_t serial = 0;
    std::array<ClientCount, kEngineClasses> counts{};
  };

  bool has_begun(const DrmClient& client, const Use& use) const;

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
