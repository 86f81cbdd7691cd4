// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/units.h"
#include "kernel/device/drm_query.h"
#include "kernel/device/engine_class.h"
#include "kernel/pmu/pmu_session.h"
#include "machine/machine.h"

// Which engines a GPU's PMU has events for, and what they are called (drivers/gpu/drm/i915/i915_pmu.c, xe/xe_pmu.c).
namespace igpu {

// i915 lists the events of every engine.
struct I915EngineEvent {
  std::string event;      // "vcs1-busy"
  std::string engine;     // "vcs1"
  std::string_view gt;    // "0", "1"
  std::string_view kind;  // busy, wait, sema
  EngineClass engine_class;
};
// events: as PmuSession::events(). Events that are not an engine's are skipped.
std::vector<I915EngineEvent> i915_engine_events(std::span<const std::string> events);

// The two events of an xe engine, and their terms.
inline constexpr std::string_view kXeActiveTicks = "engine-active-ticks";
inline constexpr std::string_view kXeTotalTicks = "engine-total-ticks";
// function: 0 is the GPU's own; of a physical function, n is virtual function n (Linux 6.16).
std::array<PmuSession::Term, 4> xe_engine_terms(const EngineInstance& engine, std::uint32_t function = 0);
// Virtual functions whose events are opened: as many as the largest GPU has (63). A group of many more would exceed
// what one read(2) of perf returns.
inline constexpr std::uint32_t kMostCountedVfs = 64;
// The total ticks of function 0 cover only its own time slices, not all of the engine's time, and no event counts the
// whole. Returns the engine's ticks computed from their rate, or `total` if the rate is not known.
std::uint64_t ticks_of_engine(std::uint64_t total, Nanoseconds elapsed, std::optional<double> hertz);
std::string xe_engine_name(const EngineInstance& engine);

// The engines that the xe PMU counts, by the render node or, without access to it, by trial. Do not call it on a
// sleeping GPU. Absent EOPNOTSUPP: the firmware is too old for these events. all_or_none: Absent kNotDescribed if there
// may be engines whose events the PMU does not describe.
Reading<std::vector<EngineInstance>> xe_pmu_engines(Machine& machine, const Gpu& gpu, const PmuSession& pmu,
                                                    bool all_or_none);

}  // namespace igpu
