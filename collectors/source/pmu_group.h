// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "igpu/reading.h"
#include "machine/perf_events.h"

namespace igpu {

// Events of one PMU on one CPU, opened as a group: one read(2) returns all counts at the same time.
class PmuGroup {
 public:
  struct Member {
    std::size_t event = 0;  // the caller's number
    std::uint64_t count = 0;
    std::uint64_t last = 0;  // as read; count is extrapolated
  };

  PmuGroup() = default;
  PmuGroup(PmuGroup&&) = default;
  PmuGroup& operator=(PmuGroup&&) = default;
  ~PmuGroup();  // the leader is closed last

  // The first event becomes the leader.
  Reading<Unit> add(PerfEvents& perf, const PerfEventConfig& config, int cpu, std::size_t event);

  enum class Outcome : std::uint8_t {
    counted,
    did_not_run,  // not once since the last read: other groups had the counters
    dissolved,    // not the group that was opened: its device is gone
  };
  // Counts of a group that ran only a part of the time are extrapolated.
  Reading<Outcome> read();

  std::span<const Member> members() const { return members_; }
  // Between the last two reads, in the kernel's own time, in nanoseconds.
  std::uint64_t elapsed() const { return elapsed_; }

 private:
  void take(std::span<const std::uint64_t> values, std::uint64_t running);

  std::vector<std::unique_ptr<PerfEvent>> files_;
  std::vector<Member> members_;
  std::vector<std::uint64_t> words_;
  std::uint64_t enabled_ = 0;
  std::uint64_t running_ = 0;
  std::uint64_t elapsed_ = 0;
};

}  // namespace igpu
