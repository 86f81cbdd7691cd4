// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "igpu/units.h"

namespace igpu {

// Decides when a collector whose counters advance only when read must run again, so that no wraparound of the hardware
// is missed. A completed reading starts a new interval; a reading that failed or was late is repeated soon.
class ReadingSchedule {
 public:
  // longest: the longest interval, whatever the collector reports. The first reading is due at once.
  ReadingSchedule(Nanoseconds now, Nanoseconds longest) : longest_(longest), due_(now) {}

  // within: as Collector::read_within().
  void was_read(Nanoseconds now, Nanoseconds within) { due_ = now + std::min(within, longest_); }
  void was_missed(Nanoseconds now, Nanoseconds within) {
    constexpr int kRetries = 10;  // within the interval of one reading
    due_ = std::max(due_, now + std::min(within, longest_) / kRetries);
  }
  Nanoseconds due() const { return due_; }
  // True if a run for other collectors should include this one. A collector that is due every second does not cause a
  // reading of one that is due every few minutes.
  bool is_near(Nanoseconds now) const { return due_ - now <= longest_ / 2; }

 private:
  Nanoseconds longest_;
  Nanoseconds due_;
};

}  // namespace igpu
