// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <system_error>

#include "igpu/error.h"
#include "machine/interval_timer.h"

namespace igpu {

// Throws InvalidOption.
inline Nanoseconds checked_interval(Nanoseconds interval) {
  if (interval < std::chrono::milliseconds(1) || interval > std::chrono::hours(24 * 365))
    throw InvalidOption("an interval is a millisecond or longer, and at most a year", "");
  return interval;
}

// Throws InvalidOption or SystemFailure.
inline IntervalTimer make_timer(Nanoseconds interval) {
  (void)checked_interval(interval);
  try {
    return IntervalTimer(interval);
  } catch (const std::system_error& error) {
    throw SystemFailure("no timer for samples", error.code(),
                        "raise the limit of open files (ulimit -n, LimitNOFILE=)");
  }
}

}  // namespace igpu
