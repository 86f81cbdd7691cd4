// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <utility>

#include "fake/simulation/simulation_script.h"
#include "machine/machine.h"

namespace igpu::simulation {

// The simulated machine's time: a clock, shifted so that the machine has an uptime of some hours.
class ScriptClock {
 public:
  ScriptClock(const Clock& clock, Nanoseconds uptime) : clock_(clock), shift_(uptime - clock.now()) {}
  ScriptTime now() const { return clock_.now() + shift_; }
  ScriptTime at(Nanoseconds clock_time) const { return clock_time + shift_; }

 private:
  const Clock& clock_;
  Nanoseconds shift_;
};

// Counts the reads that resume a suspended GPU.
class RuntimePower {
 public:
  explicit RuntimePower(bool suspended) : suspended_(suspended) {}
  void note_read() const {
    if (suspended_) resumes_.fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t resumes() const { return resumes_.load(std::memory_order_relaxed); }

 private:
  const bool suspended_;
  mutable std::atomic<std::uint64_t> resumes_{0};
};

// The state that all parts of a simulated machine share. It outlives them.
struct World {
  World(MachineScript what, const Clock& clock_of_caller)
      : script(std::move(what)), caller(clock_of_caller), clock(caller, script.uptime) {
    for (const GpuScript& gpu : script.gpus) power.emplace_back(gpu.suspended);
  }
  const MachineScript script;
  const Clock& caller;
  const ScriptClock clock;
  std::deque<RuntimePower> power;  // by GPU
};

}  // namespace igpu::simulation
