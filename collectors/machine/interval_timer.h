// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>

#include "igpu/unique_fd.h"
#include "igpu/units.h"

namespace igpu {

// Expires at every multiple of the interval (timerfd_create(2), CLOCK_MONOTONIC). Throws std::system_error.
class IntervalTimer {
 public:
  explicit IntervalTimer(Nanoseconds interval);
  int descriptor() const { return fd_.get(); }  // readable once it has expired
  // How often it has expired since the last call; 0: not since then. Does not wait.
  std::uint64_t expirations();
  // Until it has expired; false: stopped first.
  bool wait(const std::stop_token& stop) const;

 private:
  UniqueFd fd_;
};

// The same for a thread that does nothing but wait for it: one system call for each expiration. Throws
// std::system_error.
class TickTimer {
 public:
  explicit TickTimer(Nanoseconds interval);
  // Waits until it has expired. How often it has since the last call; 0: stopped.
  std::uint64_t wait();
  void stop();  // any thread

 private:
  UniqueFd fd_;
  std::atomic<bool> stopped_{false};
};

// While it exists this thread blocks the signals that a process gets from outside, and so do threads that it starts: a
// program's handlers run on the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  alignas(16) unsigned char before_[128];  // sigset_t
};

}  // namespace igpu
