// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "service/descriptor.h"

namespace igpu::exporter {

// Waits for SIGTERM and SIGINT without a signal handler. Constructed before other threads, which inherit the blocked
// signals.
class TerminationSignals {
 public:
  TerminationSignals();  // throws std::system_error

  // Waits for one of them; returns its number.
  int wait();
  // The same with a timeout.
  std::optional<int> wait(std::chrono::milliseconds timeout);
  int descriptor() const { return descriptor_.get(); }  // readable: one of them has come

 private:
  Descriptor descriptor_;
};

}  // namespace igpu::exporter
