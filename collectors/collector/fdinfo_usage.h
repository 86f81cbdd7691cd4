// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock_rate.h"
#include "base/counter_window.h"
#include "base/held_counter.h"
#include "igpu/units.h"
#include "source/clients.h"

// What the processes of one GPU have used, scrape after scrape. The kernel counts per client, and a client takes its
// time along when it closes; here the gains of all clients are added up per process, so that a process' time only
// grows while it lives. Two kinds of source: i915 tells nanoseconds; xe tells cycles beside the GPU's timestamp, which
// become seconds once the timestamp's rate is known (from the second scrape on at the latest), the time before that included.
namespace igpu {

// The counter of one client and engine class. xe adds up 32-bit context timestamps, and on some kernels a lap of theirs
// lowers the sum by 2^32: that is undone where the lap is plausible.
using ClientCounter = HeldCounter;

// Engine time of a process on one class of engines.
struct ClassUsage {
  bool shown = false;               // in the last update
  std::optional<Seconds> busy;      // total; unknown for xe until the rate of its clock is known
  std::optional<Ratio> busy_ratio;  // of the class's capacity, over the window
};

struct ProcessUsage {
  const ClientProcess* process = nullptr;
  std::span<const DrmClient> clients;
  std::array<ClassUsage, kEngineClasses> engines{};
};

// The state behind it, for one GPU. Survives a re-binding of the device.
class UsageTable {
 public:
  struct Update {
    std::vector<ProcessUsage> processes;  // sorted by pid; at most `most`
    std::size_t dropped = 0;              // the smallest recent users beyond that
  };

  // clients: those of this GPU, sorted by pid. Views into the snapshot.
  Update update(const ClientSnapshot& snapshot, std::span<const DrmClient> clients, std::size_t most, Nanoseconds min_window);
  // The rate of an xe GPU's clock, if somebody tells it: otherwise it is learned from scrape to scrape.
  void know_clock(double hertz) { clock_.know(hertz); }
  // Its nodes got other names, or it was bound anew. Clients outlive both in descriptors that stay open. Only i915 before
  // Linux 6.5, where ids start over, may now give a known id to a new client: then one that has counted less is new.
  void device_was_bound();
  // Windows must not reach over a time in which the GPU's clock may have stood still.
  void restart_windows();

  std::size_t remembered_processes() const { return processes_.size(); }
  std::size_t remembered_clients() const { return clients_.size(); }

 private:
  struct ClassState {
    explicit ClassState(Nanoseconds min_window) : window(min_window) {}
    std::uint64_t nanoseconds = 0;  // i915
    std::uint64_t cycles = 0;       // xe; all of them
    std::uint64_t converted = 0;    // xe: of these, how many are in seconds
    double seconds = 0;             // xe
    std::uint64_t moved = 0;
    CounterWindow<2> window;  // moved, clock
    std::optional<Ratio> ratio;
  };
  struct ProcessState {
    explicit ProcessState(Nanoseconds min_window);
    std::array<ClassState, kEngineClasses> engines;
    Nanoseconds last_seen{};
  };
  struct ClientState {
    std::array<ClientCounter, kEngineClasses> engines;
    std::array<std::optional<std::uint64_t>, kEngineClasses> total_cycles;
    Nanoseconds last_seen{};
    bool before_binding = false;  // not seen since the device was bound
  };
  using ProcessKey = std::pair<std::uint32_t, std::uint64_t>;  // PID and start time

  struct ClassReading;
  void advance(ProcessState& process, std::span<const DrmClient> clients, Nanoseconds now);
  void read_class(ClientState& state, const DrmClient& client, std::size_t engine_class, ClassReading& reading);
  void forget_the_ended(const ClientSnapshot& snapshot);

  std::map<ProcessKey, ProcessState> processes_;
  std::map<std::uint64_t, ClientState> clients_;  // by drm-client-id
  ClockRate clock_;
};

}  // namespace igpu
