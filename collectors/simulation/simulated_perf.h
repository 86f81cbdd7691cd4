// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "machine/perf_events.h"
#include "simulation/pmu_catalog.h"
#include "simulation/simulation_script.h"
#include "simulation/tree.h"

namespace igpu::simulation {

// perf_event_open(2) on the simulated PMUs, with the kernel's checks: permission first, then the PMU, the CPU, the
// event. Counts start at 0 when an event is opened. All arguments must outlive it and the events.
class SimulatedPerf final : public PerfEvents {
 public:
  SimulatedPerf(const MachineScript& script, const std::vector<Pmu>& pmus,
                const std::vector<std::unique_ptr<RuntimePower>>& power, const ScriptClock& clock);

  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig& event, int cpu, PerfEvent* leader) override;

 private:
  const MachineScript& script_;
  const std::vector<Pmu>& pmus_;
  const std::vector<std::unique_ptr<RuntimePower>>& power_;
  const ScriptClock& clock_;
};

}  // namespace igpu::simulation
