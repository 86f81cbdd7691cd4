// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "capture/answers.h"
#include "machine/machine.h"

namespace igpu::capture {

// A machine that answers as a capture says. Every pass of the collectors gets the answers of the next pass of the
// capture; after the last one it stays as it is. A question that was not asked in a pass has the answer of the nearest
// earlier pass, otherwise of a later one; what was never asked does not exist. Any thread.
class Replay {
 public:
  explicit Replay(std::vector<Pass> passes);  // at least one
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  Machine& machine();
  void begin_pass();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu::capture
