// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace igpu::exporter {

// Limits of a call that waits for the network. The call polls `interrupt` together with its own descriptors.
struct PushWait {
  std::chrono::steady_clock::time_point until;
  int interrupt = -1;  // readable: return at once

  std::chrono::milliseconds left() const {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    return rest.count() > 0 ? rest : std::chrono::milliseconds(0);
  }
  // Waits until `fd` has one of `events` (poll(2)), until `until`, or until the interruption. fd -1: waits for no
  // descriptor.
  enum class Ended { ready, late, interrupted };
  Ended on(int fd, short events) const;
  // Whether the wait has ended, for loops that may never block because the peer is always ready.
  bool over() const;
};

}  // namespace igpu::exporter
