// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "service/descriptor.h"

namespace igpu::exporter {

// SIGTERM and SIGINT as something to wait for: no handler runs anywhere. Made before any other thread, which inherit
// the blocked signals.
class TerminationSignals {
 public:
  TerminationSignals();  // throws std::system_error

  // Waits for one of them; returns its number.
  int wait();
  // The same, for no longer than that.
  std::optional<int> wait(std::chrono::milliseconds at_most);

 private:
  Descriptor descriptor_;
};

}  // namespace igpu::exporter
