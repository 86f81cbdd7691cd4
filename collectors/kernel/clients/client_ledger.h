// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/held_counter.h"
#include "igpu/device.h"
#include "kernel/clients/client_clocks.h"
#include "kernel/clients/clients.h"

namespace igpu {

// The engine time of one DRM client on one class of engines, in the client's own unit: i915 prints nanoseconds, xe
// prints GPU cycles beside the GPU's timestamp.
//
// The kernel corrects the counters of running contexts by far less than a second: after such a step back the earlier
// value is held. A counter that steps back further was reset. xe adds up 32-bit context timestamps, and on some kernels
// a wraparound of one lowers the sum by 2^32. This is undone if the GPU's timestamp shows that a wraparound was
// possible.
class ClientEngineCounter {
 public:
  struct Step : HeldCounter::Step {
    bool spoiled = false;  // a correction too large for its window, which gets no ratio
  };

  // engine must be present(). clock learns from the GPU's timestamp.
  Step advance(const ClientEngine& engine, Nanoseconds time, ClockRate& clock) {
    Step step;
    if (engine.busy_ns) {
      static_cast<HeldCounter::Step&>(step) = counter_.advance(*engine.busy_ns, kHeldNanoseconds);
      step.spoiled = step.stepped_back > kHeldNanoseconds / kSpoilingPart;
      return step;
    }
    const std::uint64_t lap = possible_lap(engine);
    if (engine.total_cycles) {
      last_total_ = engine.total_cycles;
      clock.observe(time, *engine.total_cycles);
    }
    static_cast<HeldCounter::Step&>(step) = counter_.advance(*engine.cycles, kHeldCycles, lap);
    step.spoiled = step.stepped_back > kHeldCycles / kSpoilingPart;
    return step;
  }

  // Whether the client has counted so much less than before that it may be another one under the same id (only i915,
  // which counts nanoseconds, reuses ids). far: only if the step exceeds every correction.
  bool would_step_back(const ClientEngine& engine, bool far) const {
    return engine.busy_ns && counter_.would_step_back(*engine.busy_ns, kHeldNanoseconds / (far ? 1 : kSpoilingPart));
  }

  // The most that the class can have gained in this time, in the client's unit. Kernels publish counts in lumps, so a
  // little more than the elapsed time is possible.
  static double most(const ClientEngine& engine, Nanoseconds elapsed, std::optional<double> hertz) {
    const double seconds = to_seconds(elapsed).value;
    if (engine.busy_ns) return possible(seconds * 1e9, static_cast<double>(kHeldNanoseconds), engine);
    return possible(seconds * hertz.value_or(kFastestClock), static_cast<double>(kHeldCycles), engine);
  }

 private:
  static constexpr std::uint64_t kHeldNanoseconds = 1'000'000'000;
  static constexpr std::uint64_t kHeldCycles = 19'200'000;
  static constexpr std::uint64_t kSpoilingPart = 100;  // the part of a held value that spoils a window
  static constexpr double kFastestClock = 38.4e6;
  static constexpr std::uint32_t kMostEngines = 64;  // a file that reports more is not believed

  static double possible(double passed, double slack, const ClientEngine& engine) {
    return (passed * 1.25 + slack) * std::min(engine.capacity, kMostEngines);
  }
  std::uint64_t possible_lap(const ClientEngine& engine) const {
    if (!engine.total_cycles || !last_total_ || *engine.total_cycles <= *last_total_) return 0;
    const auto passed = static_cast<double>(*engine.total_cycles - *last_total_);
    return static_cast<std::uint64_t>(possible(passed, static_cast<double>(kHeldCycles), engine));
  }

  HeldCounter counter_;
  std::optional<std::uint64_t> last_total_;
};

// Adds up what the clients of one GPU have used, from scan to scan. It holds the rules for all sums over clients:
//   - A reused id is a new client. Only i915 reuses ids (before Linux 6.5 always, later when the device is rebound); it
//     counts nanoseconds. Signs: a lower count under another process, if the previous one was read in this scan or has
//     ended; after a rebind, a count that restarted.
//   - The rate of the GPU's clock is learned from all its clients.
//   - A client that a scan does not show (its GPU sleeps, or the scan missed it) keeps its counts while its process
//     runs, and for some scans after that, because another process may hold it that the next scans do not visit.
class ClientLedger {
 public:
  // If more clients than this are not seen, only those that may be hidden are kept, for kMostScans scans.
  static constexpr std::size_t kMostUnseen = 4096;
  // Within this many scans every process is visited (kernel/clients/client_walk.h).
  static constexpr std::uint64_t kMostScans = 16;

  // Sets serial, slot and counts of `clients`: all of the snapshot's clients of this GPU, sorted by PID.
  void count(const ClientSnapshot& snapshot, std::span<DrmClient> clients, ClockRate& clock);
  // i915 may now give the id of a known client to a new one of the same process.
  void device_was_bound();

 private:
  struct Client {
    std::array<ClientEngineCounter, kEngineClasses> engines;
    std::array<ClientCount, kEngineClasses> counts{};
    std::uint64_t serial = 0;
    std::size_t slot = 0;
    std::uint32_t pid = 0;
    std::uint64_t start_ticks = 0;
    std::uint64_t seen_in = 0;    // number of the scan
    bool before_binding = false;  // not seen since the device was bound
  };

  static bool is_another(const ClientSnapshot& snapshot, const Client& known, const DrmClient& client,
                         std::uint64_t start_ticks);
  Client& client_of(const ClientSnapshot& snapshot, const DrmClient& client, std::uint64_t start_ticks);
  void forget_unseen(const ClientSnapshot& snapshot, std::size_t seen);

  std::map<std::uint64_t, Client> clients_;  // by drm-client-id
  std::vector<std::size_t> free_slots_;
  std::uint64_t number_ = 0;  // of the scan
  std::uint64_t last_serial_ = 0;
};

// The ledgers of all GPUs. There is one object for each series of scans, and it counts every scan; the collectors only
// add up what the clients have gained (collector/shared/client_gains.h). One thread at a time.
class ClientLedgers {
 public:
  // gpus: all bound GPUs. asleep: PCI addresses of GPUs whose clients may be hidden.
  void count(ClientSnapshot& snapshot, std::span<const Gpu> gpus, std::span<const std::string> asleep);
  // Call when the clock of a GPU may stand still or begin again. May be called on any thread.
  void pause_clock(const std::string& device) const {
    clocks_->use(device, [](ClockRate& clock) { clock.pause(); });
  }

 private:
  struct Device {
    ClientLedger ledger;
    std::optional<std::uint64_t> binding;
  };
  std::map<std::string, Device, std::less<>> devices_;  // by PCI address
  std::shared_ptr<ClientClocks> clocks_ = std::make_shared<ClientClocks>();
};

}  // namespace igpu
