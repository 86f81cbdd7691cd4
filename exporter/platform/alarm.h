// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

namespace igpu::exporter {

// A timer that one thread waits for and others set: timerfd_create(2) on Linux, a waitable timer on Windows.
class Alarm {
 public:
  Alarm();  // throws std::system_error
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Thread-safe. Setting it again replaces the earlier time, and what expired before.
  void set(std::chrono::milliseconds after);  // at least 1
  void cancel();

  // Waits until it expires; returns at once if it has since the last call.
  void wait();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter
