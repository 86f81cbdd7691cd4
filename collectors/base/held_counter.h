// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace igpu {

// Reads a count that its source may correct downwards temporarily (GuC busyness, context timestamps) or restart. During
// a correction the value is held: nothing is gained until the source has caught up. A larger step back is a restart:
// every step counts from there. Differences are signed, so a count that was reset below its starting point, and reads
// as a huge number, is a step back, too.
class HeldCounter {
 public:
  struct Step {
    std::uint64_t gained = 0;        // to be added to a count that only grows
    std::uint64_t moved = 0;         // since the last reading; what a ratio is made of (held values count again)
    std::uint64_t stepped_back = 0;  // by how much the count stepped back; such a window is not usable
    bool restarted = false;
  };

  HeldCounter() = default;
  // The source is known to count from zero.
  static HeldCounter from_zero() {
    HeldCounter counter;
    counter.seen_ = true;
    return counter;
  }

  // Whether this value is more than `further_than` below the last one, and not because of a wraparound.
  bool would_step_back(std::uint64_t raw, std::uint64_t further_than, std::uint64_t lap = 0) const {
    return seen_ && HeldCounter(*this).advance(raw, 0, lap).stepped_back > further_than;
  }

  // held: the largest step back that is a correction. lap: the largest gain that a wraparound of 2^32 may represent (a
  // sum of 32-bit timestamps that a wraparound lowered by 2^32); 0: none. The first reading counts in full.
  Step advance(std::uint64_t raw, std::uint64_t held, std::uint64_t lap = 0) {
    constexpr std::uint64_t kLap = std::uint64_t{1} << 32;
    Step step;
    if (!seen_) {
      seen_ = true;
      if (!is_negative(raw)) step.gained = step.moved = raw;
      last_ = peak_ = raw;
      return step;
    }
    if (!is_negative(raw - last_)) {
      step.moved = raw - last_;
      last_ = raw;
      if (!is_negative(raw - peak_)) {
        step.gained = raw - peak_;
        peak_ = raw;
      }
      return step;
    }
    const std::uint64_t back = last_ - raw;
    last_ = raw;
    if (peak_ - raw <= held) {
      step.stepped_back = back;
      return step;
    }
    if (const std::uint64_t gain = raw + kLap - peak_; back < kLap && !is_negative(gain) && gain <= lap) {
      step.gained = step.moved = gain;
    } else {
      step.stepped_back = back;
      step.restarted = true;
    }
    peak_ = raw;
    return step;
  }

 private:
  static bool is_negative(std::uint64_t difference) { return static_cast<std::int64_t>(difference) < 0; }

  std::uint64_t last_ = 0;
  std::uint64_t peak_ = 0;
  bool seen_ = false;
};

}  // namespace igpu
