// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "igpu/unique_fd.h"

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

// A descriptor (eventfd(2)) that is readable from raise() on until clear(). Any thread.
class WakeUp {
 public:
  WakeUp();  // throws std::system_error
  int descriptor() const { return fd_.get(); }
  void raise();
  void clear();
  bool raised() const;

 private:
  UniqueFd fd_;
};

}  // namespace igpu::exporter
