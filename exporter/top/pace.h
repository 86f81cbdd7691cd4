// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace igpu::exporter::top {

// The interval between two readings, which the user may change at any time. Thread-safe.
class Pace {
 public:
  explicit Pace(std::chrono::nanoseconds interval) : interval_(interval) {}

  std::chrono::nanoseconds interval() const {
    const std::lock_guard lock(mutex_);
    return interval_;
  }
  void change(std::chrono::nanoseconds interval) {
    {
      const std::lock_guard lock(mutex_);
      interval_ = interval;
    }
    changed_.notify_all();
  }
  // Waits until one interval has passed since `since`. False: stopped.
  bool wait(std::chrono::steady_clock::time_point since, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      const auto until = since + interval_;
      if (std::chrono::steady_clock::now() >= until) return true;
      changed_.wait_until(lock, stop, until, [&, waited = interval_] { return interval_ != waited; });
    }
    return false;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::chrono::nanoseconds interval_;
};

}  // namespace igpu::exporter::top
