// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "igpu/reading.h"
#include "igpu/units.h"

namespace igpu {

// BPF programs on a driver's tracepoints. Once opened they stay open. A driver that is not loaded is tried again a
// minute later: while the process has the rights, a driver that is loaded after the start is picked up.
template <class T>
class OpenedOnDemand {
 public:
  template <class Open>  // Reading<std::unique_ptr<T>>()
  Reading<const T*> get(Nanoseconds now, Open&& open) {
    constexpr Nanoseconds kTryAgain = std::chrono::minutes(1);
    const bool not_loaded = outcome_ && outcome_->is_absent() && outcome_->absent() == Absent{Reason::kernel, ENOENT};
    if (!outcome_ || (not_loaded && !given_up_ && now - tried_ >= kTryAgain)) {
      tried_ = now;
      Reading<std::unique_ptr<T>> outcome = open();
      // If the sandbox denies a later attempt, the first outcome stays: the driver was not loaded. There is no further
      // attempt, because each would be denied, too, after reading all types of the kernel.
      if (outcome_ && outcome.is_absent() && outcome.absent().reason == Reason::permission)
        given_up_ = true;
      else if (!outcome_ || outcome)
        outcome_.emplace(std::move(outcome));
    }
    if (!*outcome_) return outcome_->template propagate<const T*>();
    return static_cast<const T*>((*outcome_)->get());
  }

 private:
  std::optional<Reading<std::unique_ptr<T>>> outcome_;
  Nanoseconds tried_{};
  bool given_up_ = false;
};

}  // namespace igpu
