// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "igpu/units.h"

namespace igpu {

// When a collector whose counters advance only when they are read has to be read again, so that no wrap of the hardware
// is lost. Only a reading that took place moves the time; one that failed or came too late is repeated soon, not at
// once.
class ReadingSchedule {
 public:
  // longest: between two readings, whatever the collector says. Due at once.
  ReadingSchedule(Nanoseconds now, Nanoseconds longest) : longest_(longest), due_(now) {}

  // within: as Collector::read_within().
  void was_read(Nanoseconds now, Nanoseconds within) { due_ = now + std::min(within, longest_); }
  void was_missed(Nanoseconds now, Nanoseconds within) {
    constexpr int kRetries = 10;  // in the time of one reading
    due_ = std::max(due_, now + std::min(within, longest_) / kRetries);
  }
  Nanoseconds due() const { return due_; }

 private:
  Nanoseconds longest_;
  Nanoseconds due_;
};

}  // namespace igpu
