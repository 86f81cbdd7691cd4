// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <initializer_list>
#include <optional>

#include "igpu/unique_fd.h"

namespace igpu::exporter {

// Waits for SIGTERM and SIGINT, or for those given, without a signal handler. Constructed before other threads, which
// inherit the blocked signals.
class TerminationSignals {
 public:
  static const int kRequest;  // SIGUSR1; comes on Linux only

  explicit TerminationSignals(std::initializer_list<int> numbers = {SIGTERM, SIGINT});  // throws std::system_error

  // Waits for one of them; returns its number.
  int wait();
  // The same with a timeout.
  std::optional<int> wait(std::chrono::milliseconds timeout);
  int descriptor() const { return descriptor_.get(); }  // readable: one of them has come

 private:
  UniqueFd descriptor_;
};

}  // namespace igpu::exporter
