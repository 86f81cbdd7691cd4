// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace igpu::exporter {

// The state of the program's life cycle, for /-/ready.
class Readiness {
 public:
  enum class State { starting, ready, draining };
  State state() const { return state_.load(); }
  void set(State state) { state_.store(state); }

 private:
  std::atomic<State> state_ = State::starting;
};

}  // namespace igpu::exporter
