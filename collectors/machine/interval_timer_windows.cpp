// SPDX-License-Identifier: Apache-2.0
#include "machine/interval_timer.h"

namespace igpu {

TickTimer::TickTimer(Nanoseconds interval) : interval_(interval), next_(std::chrono::steady_clock::now() + interval) {}

std::uint64_t TickTimer::wait() {
  std::unique_lock lock(mutex_);
  if (changed_.wait_until(lock, next_, [this] { return stopped_; })) return 0;
  const auto missed = (std::chrono::steady_clock::now() - next_) / interval_;
  next_ += interval_ * (1 + missed);
  return 1 + static_cast<std::uint64_t>(missed);
}

void TickTimer::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

SignalsBlocked::SignalsBlocked() = default;
SignalsBlocked::~SignalsBlocked() = default;

}  // namespace igpu
