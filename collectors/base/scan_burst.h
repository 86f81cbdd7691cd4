// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "igpu/units.h"

namespace igpu {

// When to scan after the kernel reported that a process got a GPU client. What a process used is gone when it ends, so
// the first scan comes soon; a job that has run for long is scanned less often: each gap is 1.125 times the one before,
// so at most about a ninth of what a job used comes after its last scan. When scans are kLongest apart they stop:
// scrapes are as frequent.
//
// However many processes come and go, scans take at most a kShare-th of one processor's time. Up to kSaved of it is
// saved up while nothing is scanned, so that jobs after a pause are scanned in time even where one scan takes long.
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
