// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace igpu::exporter {

// Counts what is under way: bounds it, and lets a shutdown wait for it.
class InFlight {
 public:
  explicit InFlight(unsigned limit) : limit_(limit) {}  // 0: no limit

  class Slot {
   public:
    explicit Slot(InFlight* owner) : owner_(owner) {}
    Slot(Slot&& other) noexcept : owner_(other.owner_) { other.owner_ = nullptr; }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() {
      if (owner_ != nullptr) owner_->leave();
    }
    explicit operator bool() const { return owner_ != nullptr; }

   private:
    InFlight* owner_;
  };

  // An empty slot: too many.
  Slot enter() {
    const std::lock_guard lock(mutex_);
    if (limit_ != 0 && count_ >= limit_) return Slot(nullptr);
    ++count_;
    return Slot(this);
  }

  // True once nothing is under way.
  bool wait_until_idle(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, at_most, [this] { return count_ == 0; });
  }

 private:
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) idle_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable idle_;
  unsigned limit_;
  unsigned count_ = 0;
};

}  // namespace igpu::exporter
