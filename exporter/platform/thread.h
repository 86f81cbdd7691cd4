// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <initializer_list>
#include <memory>
#include <optional>

#include "igpu/unique_fd.h"

namespace igpu::exporter {

// All functions are for the calling thread. name: at most 15 characters.
void name_thread(const char* name);

// Makes writing to a broken connection an error instead of a signal, because OpenSSL writes without MSG_NOSIGNAL.
void block_broken_pipes();
void block_all_signals();

// While it exists, no signal that ends the program is delivered to this thread.
class EndPostponed {
 public:
  EndPostponed();
  ~EndPostponed();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// Waits for signals, SIGTERM and SIGINT by default, without a signal handler. Construct it before other threads, which
// inherit the blocked signals.
class TerminationSignals {
 public:
  static const int kRequest;  // SIGUSR1; arrives on Linux only

  explicit TerminationSignals(std::initializer_list<int> numbers = {SIGTERM, SIGINT});  // throws std::system_error

  // Waits for one of them; returns its number.
  int wait();
  // The same with a timeout.
  std::optional<int> wait(std::chrono::milliseconds timeout);
  int descriptor() const { return descriptor_.get(); }  // readable once one of them has arrived

 private:
  UniqueFd descriptor_;
};

// A timer that one thread waits for and others set: timerfd_create(2) on Linux, a waitable timer on Windows.
class Alarm {
 public:
  Alarm();  // throws std::system_error
  ~Alarm();

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
