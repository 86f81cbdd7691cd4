// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace igpu::exporter {

// Limits of a call that waits for the network. What waits polls `interrupt` together with its own descriptors.
struct PushWait {
  std::chrono::steady_clock::time_point until;
  int interrupt = -1;  // readable: return at once

  std::chrono::milliseconds left() const {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    return rest.count() > 0 ? rest : std::chrono::milliseconds(0);
  }
  // Until one of the descriptors has events (poll(2)), `until` or the interruption. -1 as a descriptor: none.
  enum class Ended { ready, late, interrupted };
  Ended on(int fd, short events) const;
  // For loops that need not wait, because the other end may always be ready.
  bool over() const;
};

}  // namespace igpu::exporter
