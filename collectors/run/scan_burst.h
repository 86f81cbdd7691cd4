// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "igpu/units.h"

namespace igpu {

// When to scan after the kernel reported that a process got a GPU client. The counters of a process are lost when it
// ends, so the first scan comes soon. A long job is scanned less often: each gap is 1.125 times the one before, so at
// most about a ninth of a job's work comes after its last scan. A burst ends when the gap exceeds kLongest: scrapes are
// about as frequent.
//
// Scans take at most one kShare-th of a processor's time, however many processes come and go. Up to kSaved of unused
// time is kept, so that jobs after a pause are scanned in time even if one scan takes long.
class ScanBurst {
 public:
  static constexpr Nanoseconds kFirst = std::chrono::milliseconds(100);
  static constexpr Nanoseconds kLongest = std::chrono::seconds(15);
  static constexpr int kShare = 20;
  static constexpr Nanoseconds kSaved = std::chrono::seconds(2);

  void reported(Nanoseconds now) {
    gap_ = kFirst;
    const Nanoseconds soon = std::max(now + kFirst, not_before_);
    due_ = due_ ? std::min(*due_, soon) : soon;
  }
  // cost: the processor time of the scan that has just ended.
  void scanned(Nanoseconds now, Nanoseconds cost) {
    if (budget_at_) budget_ = std::min(budget_ + (now - *budget_at_) / kShare, kSaved);
    budget_at_ = now;
    budget_ -= cost;
    not_before_ = budget_ < Nanoseconds::zero() ? now - budget_ * kShare : now;
    if (!due_) return;
    gap_ += gap_ / 8;
    due_ = gap_ > kLongest ? std::nullopt : std::optional(std::max(now + gap_, not_before_));
  }
  std::optional<Nanoseconds> due() const { return due_; }

 private:
  Nanoseconds gap_ = kFirst;
  Nanoseconds budget_ = kSaved;
  std::optional<Nanoseconds> budget_at_;
  Nanoseconds not_before_ = Nanoseconds::min();
  std::optional<Nanoseconds> due_;
};

}  // namespace igpu
