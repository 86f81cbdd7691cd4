// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "kernel/pmu/pmu_session.h"

// How busy an engine was between two readings of its PMU (i915_pmu.c, xe_pmu.c, xe_guc_engine_activity.c).
namespace igpu {

// What one event gained. The work in progress is an estimate, which the driver replaces when the firmware publishes it:
// a count that steps back has gained nothing, and no window may begin before. Each event steps back by itself, which
// the sum over several of them may hide.
class EventGain {
 public:
  explicit EventGain(PmuSession::Handle handle) : handle_(handle) {}

  // Whether there is a window since the last reading. reopened: the PMU, since then.
  bool take(const PmuSession::Values& values, bool reopened = false) {
    gain_ = in_window_ = 0;
    stepped_back_ = false;
    const auto count = values.count(handle_);
    const auto raw = values.raw(handle_);
    if (!count || !raw) return false;
    const auto count_before = std::exchange(count_, count);
    const auto raw_before = std::exchange(raw_, raw);
    if (count_before) gain_ = *count - *count_before;
    if (!raw_before || reopened) return false;
    stepped_back_ = *raw < *raw_before;
    if (!stepped_back_) in_window_ = *raw - *raw_before;
    return !stepped_back_;
  }
  void restart() {
    count_.reset();
    raw_.reset();
  }

  PmuSession::Handle handle() const { return handle_; }
  // By the last take().
  std::uint64_t gain() const { return gain_; }            // for a total: what is measured again counts once
  std::uint64_t in_window() const { return in_window_; }  // for a share of the time since the reading before
  bool stepped_back() const { return stepped_back_; }
  std::uint64_t raw() const { return raw_.value_or(0); }

 private:
  PmuSession::Handle handle_;
  std::optional<std::uint64_t> count_, raw_;
  std::uint64_t gain_ = 0, in_window_ = 0;
  bool stepped_back_ = false;
};

// Bounds what an engine worked by the time that passed, in the same unit. Work beyond it was published late and counts
// in the next interval; more than that is invalid.
class EngineBusy {
 public:
  std::uint64_t in_time(std::uint64_t worked, std::uint64_t passed) {
    worked = std::min(worked, 2 * passed) + late_;
    const std::uint64_t counted = std::min(worked, passed);
    late_ = std::min(worked - counted, passed);
    return counted;
  }
  void restart() { late_ = 0; }

 private:
  std::uint64_t late_ = 0;
};

}  // namespace igpu
