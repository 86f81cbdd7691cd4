// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>

#include "platform/thread.h"

namespace igpu::exporter {

// Lets two threads take turns at a task that must not stand still: one holds it, the other is on standby. The holder
// may leave the task for work that is usually short; if it is not back in time, the thread on standby takes the task
// over. While the work is short, no thread wakes another.
class Turns {
 public:
  // Waits until the calling thread holds the task. False: the task has ended.
  bool wait() {
    std::unique_lock lock(mutex_);
    if (!begun_) return begun_ = true;
    standby_ = true;
    while (!ended_) {
      lock.unlock();
      alarm_.wait();
      lock.lock();
      if (ended_ || !left_) continue;  // not left: the holder came back meanwhile
      left_ = standby_ = false;
      return true;
    }
    return false;
  }

  // The holder leaves the task. False: it must stay, because the other thread is not on standby.
  bool leave(std::chrono::milliseconds for_at_most) {
    {
      const std::lock_guard lock(mutex_);
      if (!standby_) return false;
      left_ = true;
    }
    alarm_.set(for_at_most);
    return true;
  }

  // The thread that left wants to go on. False: the other thread holds the task now.
  bool come_back() {
    {
      const std::lock_guard lock(mutex_);
      if (!left_) return false;
      left_ = false;
    }
    alarm_.cancel();
    return true;
  }

  // By the holder: every wait() ends.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    alarm_.set(std::chrono::milliseconds(1));  // if the other thread is on standby, it need not be waiting yet
  }

 private:
  Alarm alarm_;
  std::mutex mutex_;  // guards what follows
  bool begun_ = false;
  bool standby_ = true;  // the other thread waits, or will soon
  bool left_ = false;    // the holder may not have come back yet
  bool ended_ = false;
};

}  // namespace igpu::exporter
