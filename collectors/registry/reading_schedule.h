// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "igpu/units.h"

namespace igpu {

// When to read a collector again whose counters advance only when read, so that no wraparound of the hardware is lost.
// Only a completed reading moves the time; one that failed or was late is repeated soon, but not at once.
class ReadingSchedule {
 public:
  // longest: the maximum between two readings, whatever the collector reports. Due at once.
  ReadingSchedule(Nanoseconds now, Nanoseconds longest) : longest_(longest), due_(now) {}

  // within: as Collector::read_within().
  void was_read(Nanoseconds now, Nanoseconds within) { due_ = now + std::min(within, longest_); }
  void was_missed(Nanoseconds now, Nanoseconds within) {
    constexpr int kRetries = 10;  // within the interval of one reading
    due_ = std::max(due_, now + std::min(within, longest_) / kRetries);
  }
  Nanoseconds due() const { return due_; }
  // So soon that a run that reads others reads this one as well. One that is read every second does not bring along one
  // that is read every few minutes.
  bool is_near(Nanoseconds now) const { return due_ - now <= longest_ / 2; }

 private:
  Nanoseconds longest_;
  Nanoseconds due_;
};

}  // namespace igpu
