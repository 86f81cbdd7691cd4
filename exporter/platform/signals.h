// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <initializer_list>
#include <optional>

#include "igpu/unique_fd.h"

namespace igpu::exporter {

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

}  // namespace igpu::exporter
