// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "machine/drm_node.h"
#include "simulation/simulation_script.h"
#include "simulation/tree.h"

namespace igpu::simulation {

// Render nodes of the simulated GPUs: i915's QUERY of memory regions and GETPARAM of HuC, xe's DEVICE_QUERY of engines,
// memory regions, configuration, GTs and firmware.
class SimulatedDrm final : public DrmNodes {
 public:
  SimulatedDrm(const MachineScript& script, const std::vector<std::unique_ptr<RuntimePower>>& power,
               const ScriptClock& clock);
  Reading<std::unique_ptr<DrmNode>> open(std::string_view name) override;

 private:
  const MachineScript& script_;
  const std::vector<std::unique_ptr<RuntimePower>>& power_;
  const ScriptClock& clock_;
};

}  // namespace igpu::simulation
