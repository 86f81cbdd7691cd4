// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "igpu/units.h"

namespace igpu::sampling {

// How many observations fell into each bucket, and their sum. The last bucket has no bound.
template <std::size_t B>
struct Histogram {
  std::array<std::uint64_t, B + 1> counts{};
  double sum = 0;

  void observe(const std::array<double, B>& bounds, double value) {
    // A bound is part of its bucket.
    const auto bucket = std::ranges::lower_bound(bounds, value) - bounds.begin();
    ++counts[static_cast<std::size_t>(bucket)];
    sum += value;
  }
};

inline constexpr std::array kUtilizationBounds{0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99};
inline constexpr std::array kGapBounds{0.1, 0.25, 0.5, 1.0, 5.0};

// Statistics over the samples of one engine.
class EngineStatistics {
 public:
  // Below this an engine is idle.
  static constexpr double kIdle = 0.05;
  // Seconds. A longer idle time is the end of the work, not a gap in it. The PMU of xe is closed after the same time.
  static constexpr double kLongestGap = 60;

  // busy: 0..1, the mean over `window`, which ends now. If it is `saturated` or more, the whole window counts as
  // saturated time.
  void add(double busy, Nanoseconds window, double saturated) {
    const double seconds = to_seconds(window).value;
    observed_ = true;
    utilization_.observe(kUtilizationBounds, busy);
    if (busy >= saturated) saturated_seconds_ += seconds;
    if (busy < kIdle) {
      gap_ += seconds;
      if (gap_ > kLongestGap) working_ = false;
      return;
    }
    if (working_ && gap_ > 0) gaps_.observe(kGapBounds, gap_);
    working_ = true;
    gap_ = 0;
  }

  // Call when the engine has not been observed for a time. A gap that began before is dropped, because its end is
  // unknown.
  void interrupt() {
    working_ = false;
    gap_ = 0;
  }

  bool observed() const { return observed_; }
  const Histogram<kUtilizationBounds.size()>& utilization() const { return utilization_; }
  const Histogram<kGapBounds.size()>& gaps() const { return gaps_; }
  Seconds saturated() const { return Seconds{saturated_seconds_}; }

 private:
  Histogram<kUtilizationBounds.size()> utilization_;
  Histogram<kGapBounds.size()> gaps_;
  bool observed_ = false;  // at least once
  double saturated_seconds_ = 0;
  bool working_ = false;  // it was busy, and has not been idle for long
  double gap_ = 0;        // seconds below kIdle since then
};

}  // namespace igpu::sampling
