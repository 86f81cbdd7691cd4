// SPDX-License-Identifier: Apache-2.0
#include "simulation/pmu_catalog.h"

namespace igpu::simulation {

std::vector<Pmu> pmus_of(const MachineScript& script) {
  using Kind = Pmu::Kind;
  std::vector<Pmu> pmus{{Kind::other, "software", 1},
                        {Kind::other, "tracepoint", 2},
                        {Kind::other, "cpu", 4},
                        {Kind::other, "breakpoint", 5},
                        {Kind::power, "power", 9},
                        {Kind::other, "msr", 10},
                        {Kind::other, "uncore_imc_0", 13},
                        {Kind::imc_free_running, "uncore_imc_free_running_0", 14},
                        {Kind::imc_free_running, "uncore_imc_free_running_1", 15}};
  std::uint32_t type = 24;  // dynamic types, in order of registration
  for (std::size_t gpu = 0; gpu < script.gpus.size(); ++gpu, type += 1) {
    const bool is_xe = script.gpus[gpu].model.driver == Driver::xe;
    pmus.push_back({is_xe ? Kind::xe : Kind::i915, script.gpus[gpu].pmu_name(), type, gpu});
  }
  return pmus;
}

}  // namespace igpu::simulation
