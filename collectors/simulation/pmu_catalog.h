// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/simulation_script.h"
#include "simulation/tree.h"

namespace igpu::simulation {

// The perf PMUs of a simulated machine. The directories below bus/event_source are rendered from this list, and
// perf_event_open looks PMUs up in it by type.
struct Pmu {
  enum class Kind { other, i915, xe, power, imc_free_running };
  Kind kind = Kind::other;
  std::string name;
  std::uint32_t type = 0;
  std::size_t gpu = 0;  // i915, xe: index into MachineScript::gpus
};

std::vector<Pmu> pmus_of(const MachineScript& script);

// i915_drm.h, drivers/gpu/drm/i915/i915_pmu.c
namespace i915_pmu {
inline constexpr std::uint64_t kFirstOther = 0x100000;
// Samples of an engine.
inline constexpr std::uint64_t kBusy = 0;
inline constexpr std::uint64_t kWait = 1;
inline constexpr std::uint64_t kSema = 2;
// Counters of a GT.
inline constexpr std::uint64_t kActual = 0;
inline constexpr std::uint64_t kRequested = 1;
inline constexpr std::uint64_t kInterrupts = 2;
inline constexpr std::uint64_t kRc6 = 3;
inline constexpr std::uint64_t kAwake = 4;
constexpr std::uint64_t engine_config(const EngineModel& engine, std::uint64_t sample) {
  return static_cast<std::uint64_t>(engine.engine_class) << 12 | std::uint64_t{engine.instance} << 4 | sample;
}
constexpr std::uint64_t other_config(std::uint64_t other, std::uint64_t gt) { return (kFirstOther + other) | gt << 60; }
}  // namespace i915_pmu

// Events of drivers/gpu/drm/xe/xe_pmu.c
namespace xe_pmu {
inline constexpr std::uint64_t kC6Residency = 1;
inline constexpr std::uint64_t kActiveTicks = 2;
inline constexpr std::uint64_t kTotalTicks = 3;
inline constexpr std::uint64_t kActualFrequency = 4;
inline constexpr std::uint64_t kRequestedFrequency = 5;
}  // namespace xe_pmu

// Events of arch/x86/events/rapl.c
namespace rapl_pmu {
inline constexpr std::uint64_t kCores = 1;
inline constexpr std::uint64_t kPackage = 2;
inline constexpr std::uint64_t kGpu = 4;
inline constexpr std::uint64_t kPsys = 5;
}  // namespace rapl_pmu

// The GPU timestamp frequency of newer parts under both drivers: 19.2 MHz.
constexpr std::uint64_t gpu_ticks(std::uint64_t nanoseconds) {
  return nanoseconds / 625 * 12 + nanoseconds % 625 * 12 / 625;
}

}  // namespace igpu::simulation
