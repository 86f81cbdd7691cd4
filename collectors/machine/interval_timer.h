// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

#include "igpu/unique_fd.h"
#include "igpu/units.h"

namespace igpu {

#ifndef _WIN32
// Expires at every multiple of the interval (timerfd_create(2), CLOCK_MONOTONIC). Throws std::system_error.
class IntervalTimer {
 public:
  explicit IntervalTimer(Nanoseconds interval);
  int descriptor() const { return fd_.get(); }  // readable once it has expired
  // The number of expirations since the last call. Does not wait.
  std::uint64_t expirations();
  // Waits until it has expired; false: stopped first.
  bool wait(const std::stop_token& stop) const;

 private:
  UniqueFd fd_;
};

#endif

// A timer for a thread that only waits for it: one system call for each expiration. Throws
// std::system_error.
class TickTimer {
 public:
  explicit TickTimer(Nanoseconds interval);
  // Waits until it has expired. Returns the number of expirations since the last call; 0: stopped.
  std::uint64_t wait();
  void stop();  // any thread

 private:
#ifdef _WIN32
  Nanoseconds interval_;
  std::chrono::steady_clock::time_point next_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
#else
  UniqueFd fd_;
  std::atomic<bool> stopped_{false};
#endif
};

// While it exists this thread blocks the signals that a process gets from outside, and so do threads that it starts: a
// program's handlers run on the program's own threads. Windows has no such signals.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  alignas(16) [[maybe_unused]] unsigned char before_[128];  // sigset_t
};

}  // namespace igpu
