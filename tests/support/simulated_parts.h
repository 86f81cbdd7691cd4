// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "fake/simulation/simulation.h"
#include "run/machine_parts.h"
#include "support/fake_clock.h"

namespace igpu::test {

// A simulated machine whose time the test moves.
class SimulatedParts final : public MachineParts {
 public:
  explicit SimulatedParts(std::string_view profile)
      : simulated(SimulatedMachine::create(profile, clock)), machine_(made(profile)) {}
  explicit SimulatedParts(simulation::MachineScript script)
      : simulated(SimulatedMachine::create(std::move(script), clock)), machine_(simulated->machine()) {}
  Machine& machine() override { return machine_; }

  FakeClock clock;
  std::unique_ptr<SimulatedMachine> simulated;

 private:
  Machine made(std::string_view profile) const {
    if (!simulated) throw std::invalid_argument("no profile " + std::string(profile));
    return simulated->machine();
  }
  Machine machine_;
};

}  // namespace igpu::test
