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
  // Of children that ended and were waited for, with what those had waited for.
  std::uint64_t reaped_user_ticks = 0;
  std::uint64_t reaped_system_ticks = 0;
  std::uint64_t reaped_faults = 0;  // moves whenever a child is waited for
  // The kernel adds those of children that were waited for.
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> written_bytes;
  std::uint64_t resident_bytes = 0;
};

// What processes used from one scan to the next, each second and byte once:
//   - a process that started after the previous scan counts whole, one that is older counts from the scan that first
//     shows it (it may have been there before the exporter, or outside of all groups);
//   - a process that ended between two scans shows in its parent once that waited for it: what exceeds the last
//     reading of it is the parent's gain. Nobody else knows of a process that started and ended between two scans;
//   - a count that steps back gains nothing.
class TreeUsage {
 public:
  struct Gain {
    std::uint64_t user_ticks = 0;
    std::uint64_t system_ticks = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
  };

  // processes: everybody who is counted now, sorted by PID, each once. now_ticks: when the scan began, on the clock of
  // start_ticks. The gains are in the order of processes, and valid until the next call.
  std::span<const Gain> advance(std::span<const TreeProcess> processes, std::uint64_t now_ticks);

  std::size_t known() const { return known_.size(); }

 private:
  struct Known {
    TreeProcess last;
    // Last readings of children that ended: found by this scan, and by the one before. A child may end after its
    // parent was read, so its time can come a scan later; after that it does not come any more.
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
