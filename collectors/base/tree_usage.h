// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace igpu {

// One process as a scan found it. Counts are since its start.
struct TreeProcess {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::uint64_t start_ticks = 0;  // since boot; distinguishes a reused PID
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  // Of children that ended and were waited for, including their own children.
  std::uint64_t reaped_user_ticks = 0;
  std::uint64_t reaped_system_ticks = 0;
  std::uint64_t reaped_faults = 0;  // grows whenever a child is waited for
  // These include children that were waited for.
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> written_bytes;
  std::uint64_t resident_bytes = 0;
};

// Finds a process in a list sorted by PID; null if it is not there.
const TreeProcess* find_process(std::span<const TreeProcess> processes, std::uint32_t pid);

// What processes used between two scans. Each second and byte counts once:
//   - a process that started after the previous scan counts from its start; an older process counts from the scan that
//     first shows it (it may have run before the exporter, or outside of all groups);
//   - the time of a process that ended between two scans appears in its parent once the parent has waited for it. The
//     part beyond the last reading of that process is the parent's gain. A process that started and ended between two
//     scans is visible only there;
//   - a count that steps back gains nothing.
class TreeUsage {
 public:
  struct Gain {
    std::uint64_t user_ticks = 0;
    std::uint64_t system_ticks = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
  };

  // processes: all that are counted now, sorted by PID, each once. now_ticks: begin of the scan, on the clock of
  // start_ticks. The gains are in the order of processes, and valid until the next call.
  std::span<const Gain> advance(std::span<const TreeProcess> processes, std::uint64_t now_ticks);

  std::size_t known() const { return known_.size(); }

 private:
  struct Known {
    TreeProcess last;
    // Last readings of children that this scan, and the scan before, found ended. A child may end after its parent was
    // read, so its time can reach the parent one scan later, but not after that.
    Gain ended_now;
    Gain ended_before;
    bool seen = false;
  };

  void end(const Known& process);
  static Gain gain_of(Known& known, const TreeProcess& now);

  std::map<std::uint32_t, Known> known_;
  std::vector<Gain> gains_;
  std::optional<std::uint64_t> previous_scan_;
};

}  // namespace igpu
