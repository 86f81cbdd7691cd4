// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "igpu/units.h"

namespace igpu {

// The most that a count can gain in a time, in its own unit: what its source can draw, or the time itself. Only this
// distinguishes a lap of a counter from a reset.
struct GainBound {
  double per_second = 0;
  double at_once = 0;  // rounding, and the steps in which a source publishes its count

  constexpr double most(Nanoseconds elapsed) const {
    return per_second * to_seconds(std::max(elapsed, Nanoseconds::zero())).value + at_once;
  }
};

enum class Advance {
  gained,
  lapped,  // it gained and wrapped around
  reset,   // it restarted elsewhere: the gain is unknown
  held,    // lower, but not from a restart: a dip, unless it stays
};

// How a count changed between two readings. range: where it wraps; 0: never. most: its maximum gain. A step forward is
// accepted up to twice that, because it is the source's own count; a wraparound is only inferred. A restart begins at
// zero: it has gained no more than `most` since then, and is below half of what was counted before, so that a dip of a
// young count is none.
constexpr Advance judge(std::uint64_t before, std::uint64_t now, std::uint64_t range, double most) {
  if (now >= before) return static_cast<double>(now - before) <= 2 * most ? Advance::gained : Advance::reset;
  if (before <= range && static_cast<double>(range - before + now) <= most) return Advance::lapped;
  return static_cast<double>(now) <= most && now <= before / 2 ? Advance::reset : Advance::held;
}

}  // namespace igpu
