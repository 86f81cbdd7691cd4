// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock_rate.h"
#include "base/counter_window.h"
#include "collector/shared/client_engine_counter.h"
#include "igpu/units.h"
#include "source/clients.h"

// What the processes of one GPU have used, over all scrapes. The kernel counts per client, and the count disappears
// with the client; here the gains of all clients are added up per process, so that the time of a process only grows
// while it exists. Two kinds of source: i915 reports nanoseconds; xe reports cycles with the GPU's timestamp, which
// become seconds, including the earlier ones, once the timestamp's rate is known (from the second scrape on at the
// latest).
//
// A series belongs to its labels, a PID and a name, and only grows while the exporter runs: a process with both of an
// earlier one continues its count. A client that is seen for the first time counts in full, in the series of the
// process that holds it; later gains belong to the series of its holder at that time. So a client that moves to another
// process (a child whose parent ends, a descriptor that was passed) carries nothing over, no time is in two series, and
// a ratio always matches the gain of its counter. A client with another holder and a lower count is another client with
// a reused id.
namespace igpu {

// Engine time of a process on one class of engines.
struct ClassUsage {
  bool shown = false;               // in the last update
  std::optional<Seconds> busy;      // total; unknown for xe until the rate of its clock is known
  std::optional<Ratio> busy_ratio;  // of the class's capacity, over the window
};

struct ProcessUsage {
  const ClientProcess* process = nullptr;
  std::span<const DrmClient> clients;
  std::optional<Seconds> cpu;  // total of the series, which may be older than the process
  std::array<ClassUsage, kEngineClasses> engines{};
};

// The state of one GPU. Survives rebinding of the device.
class UsageTable {
 public:
  struct Update {
    std::vector<ProcessUsage> processes;  // sorted by pid; at most `most`
    std::size_t dropped = 0;              // those beyond that which used the GPU least
  };

  // clients: those of this GPU, sorted by pid. Views into the snapshot.
  Update update(const ClientSnapshot& snapshot, std::span<const DrmClient> clients, std::size_t most,
                Nanoseconds min_window);
  // The rate of an xe GPU's clock, if the driver reports it: otherwise it is learned from scrape to scrape.
  void know_clock(double hertz) { clock_.know(hertz); }
  // The device was rebound, or its nodes were renamed. Clients survive both in open descriptors. Only i915 before
  // Linux 6.5, where ids restart, may now reuse a known id for a new client: a lower count then means a new client.
  void device_was_bound();
  // Windows must not span a time in which the GPU's clock may have been stopped.
  void restart_windows();

  std::size_t remembered_processes() const { return processes_.size(); }
  std::size_t remembered_series() const { return ended_.size(); }
  std::size_t remembered_clients() const { return clients_.size(); }

 private:
  struct ClassState {
    explicit ClassState(Nanoseconds min_window) : window(min_window) {}
    std::uint64_t nanoseconds = 0;  // i915
    std::uint64_t cycles = 0;       // xe; all of them
    std::uint64_t converted = 0;    // xe: cycles already converted to seconds
    double seconds = 0;             // xe
    std::uint64_t moved = 0;
    CounterWindow<2> window;  // moved, clock
    std::optional<Ratio> ratio;
  };
  struct ProcessState {
    explicit ProcessState(Nanoseconds min_window);
    std::array<ClassState, kEngineClasses> engines;
    std::uint64_t start_time_ticks = 0;  // of the process that has the series now
    Seconds cpu_of_earlier{};            // of earlier processes with this series
    std::optional<Seconds> cpu;
    Nanoseconds last_seen{};
  };
  using Holder = std::pair<std::uint32_t, std::uint64_t>;  // PID and start time
  struct ClientState {
    std::array<ClientEngineCounter, kEngineClasses> engines;
    Nanoseconds last_seen{};
    std::optional<Holder> holder;  // none yet: seen for the first time
    bool before_binding = false;   // not seen since the device was bound
  };
  using SeriesKey = std::pair<std::uint32_t, std::string>;  // PID and comm
  // The final counts of an ended series.
  struct Ended {
    std::array<double, kEngineClasses> seconds{};
    std::array<std::uint64_t, kEngineClasses> cycles{};  // not converted yet
    Seconds cpu{};
    Nanoseconds last_seen{};
  };

  struct ClassReading;
  ProcessState& series_of(const ClientProcess& process, Nanoseconds min_window);
  void advance(ProcessState& process, std::span<const DrmClient> clients, const Holder& holder,
               const ClientSnapshot& snapshot);
  bool is_another(const ClientState& state, const DrmClient& client, const Holder& holder,
                  const ClientSnapshot& snapshot) const;
  void read_class(ClientState& state, const DrmClient& client, std::size_t engine_class, ClassReading& reading);
  void forget_the_ended(const ClientSnapshot& snapshot);
  void keep_count(const SeriesKey& key, const ProcessState& state);

  std::map<SeriesKey, ProcessState> processes_;
  std::map<SeriesKey, Ended> ended_;
  std::map<std::uint64_t, ClientState> clients_;  // by drm-client-id
  ClockRate clock_;
};

}  // namespace igpu
