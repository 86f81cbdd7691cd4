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

#include "base/counter_window.h"
#include "collector/shared/client_gains.h"
#include "igpu/units.h"
#include "kernel/clients/clients.h"

// Use of one GPU by process, over all scrapes. The kernel counts per client, and the count disappears with the client.
// Here the gains of all clients are added up per process, so that the time of a process only grows while it exists.
// i915 reports nanoseconds. xe reports cycles with the GPU's timestamp; they become seconds, including earlier ones,
// once the timestamp's rate is known (from the second scrape on at the latest).
//
// A series belongs to its labels, a PID and a name, and only grows while the exporter runs: a process with the PID and
// name of an earlier process continues its count. A client that is seen for the first time counts in full, in the
// series of the process that holds it; later gains belong to the series of its holder at that time. So a client that
// moves to another process (a child whose parent ends, a descriptor that was passed) takes no earlier time along, no
// time is in two series, and a ratio always matches the gain of its counter.
namespace igpu {

// Engine time of a process on one class of engines.
struct ClassUsage {
  bool shown = false;               // part of the last update
  std::optional<Seconds> busy;      // total; unknown for xe until the rate of its clock is known
  std::optional<Ratio> busy_ratio;  // of the class's capacity, over the window
};

struct ProcessUsage {
  const ClientProcess* process = nullptr;
  std::span<const DrmClient> clients;
  std::optional<Seconds> cpu;  // total of the series, which may have begun with an earlier process
  std::array<ClassUsage, kEngineClasses> engines{};
};

// The state of one GPU. Survives rebinding of the device.
class UsageTable {
 public:
  struct Update {
    std::vector<ProcessUsage> processes;  // sorted by pid; at most `most`
    std::size_t dropped = 0;              // number of the other processes, which used the GPU least
  };

  // clients: the snapshot's clients of this GPU, sorted by pid. The result has views into the snapshot.
  Update update(const ClientSnapshot& snapshot, std::span<const DrmClient> clients, std::size_t most,
                Nanoseconds min_window);
  // Call when the device was rebound or its nodes were renamed. Clients survive both in open descriptors.
  void device_was_bound();
  // Call while the GPU sleeps: windows must not span a time in which its clock stands still.
  void note_sleep(Nanoseconds now);

 private:
  struct ClassState {
    explicit ClassState(Nanoseconds min_window) : window(min_window) {}
    EngineTime time;
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
  using SeriesKey = std::pair<std::uint32_t, std::string>;  // PID and comm
  // The final counts of an ended series.
  struct Ended {
    std::array<EngineTime, kEngineClasses> engines{};
    Seconds cpu{};
    Nanoseconds last_seen{};
  };

  struct ClassReading;
  ProcessState& series_of(const ClientProcess& process, Nanoseconds min_window);
  double advance(ProcessState& process, std::span<const DrmClient> clients);
  void restart_windows();
  void forget_the_ended(const ClientSnapshot& snapshot);
  void keep_count(const SeriesKey& key, const ProcessState& state);

  std::map<SeriesKey, ProcessState> processes_;
  std::map<SeriesKey, Ended> ended_;
  ClientGains gains_;
};

}  // namespace igpu
