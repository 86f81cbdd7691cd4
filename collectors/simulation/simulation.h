// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "machine/machine.h"
#include "simulation/simulation_script.h"

namespace igpu {

// A machine with Intel GPUs that is not there: everything behind machine/'s interfaces, in memory, alive over time.
// What it shows at a time depends on nothing but that time, so any number of threads may read. What it is doing is
// known exactly: script().
class SimulatedMachine {
 public:
  // clock: where the machine takes its time from; must outlive it. The machine has been up for some hours when it is
  // created. nullptr: there is no such profile.
  static std::unique_ptr<SimulatedMachine> create(std::string_view profile, Clock& clock);
  static std::unique_ptr<SimulatedMachine> create(simulation::MachineScript script, Clock& clock);
  ~SimulatedMachine();
  SimulatedMachine(const SimulatedMachine&) = delete;
  SimulatedMachine& operator=(const SimulatedMachine&) = delete;

  Machine machine();  // valid as long as this object

  const simulation::MachineScript& script() const;
  // Script time of a reading of the clock.
  simulation::ScriptTime script_time(Nanoseconds clock_time) const;
  // How often something that was read had to resume a suspended GPU.
  std::uint64_t resumes() const;

 private:
  struct State;
  explicit SimulatedMachine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace igpu
