// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

namespace igpu::exporter {

// The time until the next attempt: doubled after each failure, with jitter, so that many exporters do not reconnect to
// a receiver at the same time.
class Backoff {
 public:
  static constexpr std::chrono::milliseconds kFirst{1000}, kMost{60'000};
  static constexpr std::chrono::seconds kMostRequested{300};

  explicit Backoff(std::function<double()> random) : random_(std::move(random)) {}  // 0 <= random() < 1

  // retry_after: the delay that the receiver requested.
  std::chrono::milliseconds next(std::optional<std::chrono::seconds> retry_after) {
    const std::chrono::milliseconds full = delay_;
    delay_ = std::min(delay_ * 2, kMost);
    const double random = random_();
    const auto scaled = [](std::chrono::milliseconds time, double by) {
      return std::chrono::milliseconds(
          static_cast<std::chrono::milliseconds::rep>(static_cast<double>(time.count()) * by));
    };
    if (!retry_after) return scaled(full, 0.5 + random / 2);
    return std::clamp(*retry_after, std::chrono::seconds(0), kMostRequested) + scaled(kFirst, random);
  }
  void reset() { delay_ = kFirst; }

 private:
  std::function<double()> random_;
  std::chrono::milliseconds delay_ = kFirst;
};

}  // namespace igpu::exporter
