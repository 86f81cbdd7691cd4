// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

#include "igpu/units.h"

namespace igpu {

struct RateLimit {
  Nanoseconds interval{};  // of one token; 0: no limit
  unsigned burst = 0;
  bool operator==(const RateLimit&) const = default;
};

// Gains one token per interval, up to `burst`; full at the start. Thread-safe.
class TokenBucket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Takes a token; false if there is none. A changed limit starts with a full bucket.
  bool take_token(const RateLimit& limit, Time now) {
    if (limit.interval <= Nanoseconds::zero()) return true;
    const std::lock_guard lock(mutex_);
    if (limit != limit_) {
      limit_ = limit;
      tokens_ = limit.burst;
      counted_at_ = now;
    }
    const Time until = std::max(counted_at_, now);
    tokens_ =
        std::min<double>(limit.burst, tokens_ + std::chrono::duration<double>(until - counted_at_) / limit.interval);
    counted_at_ = until;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  std::mutex mutex_;
  RateLimit limit_;
  double tokens_ = 0;
  Time counted_at_;
};

}  // namespace igpu
