// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "fake/simulation/simulation_script.h"
#include "machine/machine.h"

namespace igpu {

// A simulated machine with Intel GPUs: implements machine/'s interfaces in memory, with loads that change over time.
// Every value depends only on the time, so any number of threads may read. script() returns exactly what the machine is
// doing.
class SimulatedMachine {
 public:
  // clock: the machine's time source; must outlive it. The machine has an uptime of some hours when it is created.
  // unix_now: the time of day, since 1970; without it the machine lives at a fixed time. Returns nullptr for an unknown
  // profile.
  static std::unique_ptr<SimulatedMachine> create(std::string_view profile, const Clock& clock,
                                                  std::optional<Nanoseconds> unix_now = {});
  static std::unique_ptr<SimulatedMachine> create(simulation::MachineScript script, const Clock& clock);
  ~SimulatedMachine();
  SimulatedMachine(const SimulatedMachine&) = delete;
  SimulatedMachine& operator=(const SimulatedMachine&) = delete;

  Machine machine();  // valid for the lifetime of this object

  const simulation::MachineScript& script() const;
  // Converts a clock reading to script time.
  simulation::ScriptTime script_time(Nanoseconds clock_time) const;
  // How often a read resumed a suspended GPU.
  std::uint64_t resumes() const;

 private:
  struct State;
  explicit SimulatedMachine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace igpu
