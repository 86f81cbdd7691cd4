// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "igpu/units.h"

namespace igpu {

// The window behind every gauge computed from counters. Keeps two earlier states, so that the window of a scrape is
// never shorter than min_window, even with several independent scrapers: a scrape shortly after another one uses the
// state before it.
//
// N counters move together (a numerator and its denominator). If any goes backwards there is no delta for that
// step, and the window restarts at that state.
template <std::size_t N>
class CounterWindow {
 public:
  using State = std::array<std::uint64_t, N>;
  struct Delta {
    State counts;
    Nanoseconds elapsed;  // > 0
  };

  explicit CounterWindow(Nanoseconds min_window) : min_window_(min_window) {}

  // now must not decrease. There is no delta at the first call, or while no state is old enough.
  std::optional<Delta> advance(Nanoseconds now, const State& state) {
    if (!newer_) {
      newer_ = Anchor{now, state};
      last_ = state;
      return std::nullopt;
    }
    for (std::size_t i = 0; i < N; ++i) {
      if (state[i] < last_[i]) {
        older_.reset();
        newer_ = Anchor{now, state};
        last_ = state;
        return std::nullopt;
      }
    }
    last_ = state;
    if (now - newer_->time >= min_window_) {
      older_ = newer_;
      newer_ = Anchor{now, state};
      return delta(*older_, now, state);
    }
    if (older_) return delta(*older_, now, state);
    return std::nullopt;
  }

  void restart() {
    older_.reset();
    newer_.reset();
  }

 private:
  struct Anchor {
    Nanoseconds time;
    State state;
  };

  static std::optional<Delta> delta(const Anchor& from, Nanoseconds now, const State& state) {
    Delta d{{}, now - from.time};
    if (d.elapsed <= Nanoseconds::zero()) return std::nullopt;
    for (std::size_t i = 0; i < N; ++i) d.counts[i] = state[i] - from.state[i];
    return d;
  }

  Nanoseconds min_window_;
  std::optional<Anchor> older_;
  std::optional<Anchor> newer_;
  State last_{};
};

// numerator/denominator, clamped to 0..1.
constexpr Ratio clamped_ratio(double numerator, double denominator) {
  if (!(denominator > 0) || !(numerator > 0)) return Ratio{0};
  const double r = numerator / denominator;
  return Ratio{r < 1 ? r : 1};
}

}  // namespace igpu
