// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

#include "web_config/config.h"

namespace igpu::exporter {

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
    const Time since = std::min(counted_at_, now);
    tokens_ = std::min<double>(limit.burst, tokens_ + std::chrono::duration<double>(now - since) / limit.interval);
    counted_at_ = now;
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

}  // namespace igpu::exporter
