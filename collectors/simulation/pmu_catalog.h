// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/simulation_script.h"
#include "simulation/tree.h"

namespace igpu::simulation {

// The perf PMUs of a simulated machine: their directories below bus/event_source are rendered from this list, and
// perf_event_open finds them in it by type.
struct Pmu {
  enum class Kind { other, i915, xe, power, imc_free_running };
  Kind kind = Kind::other;
  std::string name;
  std::uint32_t type = 0;
  std::size_t gpu = 0;  // i915, xe: index into MachineScript::gpus
};

std::vector<Pmu> pmus_of(const MachineScript& script);
const Pmu* gpu_pmu(const std::vector<Pmu>& pmus, std::size_t gpu);

// i915_drm.h, drivers/gpu/drm/i915/i915_pmu.c
namespace i915_pmu {
inline constexpr std::uint64_t kFirstOther = 0x100000;
enum Sample : std::uint64_t { kBusy = 0, kWait = 1, kSema = 2 };
enum Other : std::uint64_t { kActual = 0, kRequested = 1, kInterrupts = 2, kRc6 = 3, kAwake = 4 };
constexpr std::uint64_t engine_config(const EngineModel& engine, Sample sample) {
  return static_cast<std::uint64_t>(engine.engine_class) << 12 | std::uint64_t{engine.instance} << 4 | sample;
}
constexpr std::uint64_t other_config(Other other, std::uint64_t gt) { return (kFirstOther + other) | gt << 60; }
}  // namespace i915_pmu

// drivers/gpu/drm/xe/xe_pmu.c
namespace xe_pmu {
enum Event : std::uint64_t {
  kC6Residency = 1,
  kActiveTicks = 2,
  kTotalTicks = 3,
  kActualFrequency = 4,
  kRequestedFrequency = 5,
};
}  // namespace xe_pmu

// arch/x86/events/rapl.c
namespace rapl_pmu {
enum Event : std::uint64_t { kCores = 1, kPackage = 2, kRam = 3, kGpu = 4, kPsys = 5 };
}  // namespace rapl_pmu

// The GPU timestamp of both drivers' newer parts: 19.2 MHz.
constexpr std::uint64_t gpu_ticks(std::uint64_t nanoseconds) {
  return nanoseconds / 625 * 12 + nanoseconds % 625 * 12 / 625;
}

}  // namespace igpu::simulation
