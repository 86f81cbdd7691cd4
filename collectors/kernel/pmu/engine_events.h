// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

// How busy an engine was between two readings of its PMU (i915_pmu.c, xe_pmu.c, xe_guc_engine_activity.c).

// What one event gained. The work in progress is an estimate, which the driver replaces when the firmware publishes it:
// a count that steps back has gained nothing, and no window may begin before. Each event steps back by itself, which
// the sum over several of them may hide.
class EventGain {
 public:
  explicit EventGain(PmuSession::Handle handle) : handle_(handle) {}

  // Whether there is a window since the last reading. reopened: the PMU, since then.
  bool take(const PmuSession::Values& values, bool reopened = false) {
    gain_ = in_window_ = 0;
    stepped_back_ = false;
    const auto count = values.count(handle_);
    const auto raw = values.raw(handle_);
    if (!count || !raw) return false;
    const auto count_before = std::exchange(count_, count);
    const auto raw_before = std::exchange(raw_, raw);
    if (count_before) gain_ = *count - *count_before;
    if (!raw_before || reopened) return false;
    stepped_back_ = *raw < *raw_before;
    if (!stepped_back_) in_window_ = *raw - *raw_before;
    return !stepped_back_;
  }
  void restart() {
    count_.reset();
    raw_.reset();
  }

  PmuSession::Handle handle() const { return handle_; }
  // By the last take().
  std::uint64_t gain() const { return gain_; }            // for a total: what is measured again counts once
  std::uint64_t in_window() const { return in_window_; }  // for a share of the time since the reading before
  bool stepped_back() const { return stepped_back_; }
  std::uint64_t raw() const { return raw_.value_or(0); }

 private:
  PmuSession::Handle handle_;
  std::optional<std::uint64_t> count_, raw_;
  std::uint64_t gain_ = 0, in_window_ = 0;
  bool stepped_back_ = false;
};

// Bounds what an engine worked by the time that passed, in the same unit. Work beyond it was published late and counts
// in the next interval; more than that is invalid.
class EngineBusy {
 public:
  std::uint64_t in_time(std::uint64_t worked, std::uint64_t passed) {
    worked = std::min(worked, 2 * passed) + late_;
    const std::uint64_t counted = std::min(worked, passed);
    late_ = std::min(worked - counted, passed);
    return counted;
  }
  void restart() { late_ = 0; }

 private:
  std::uint64_t late_ = 0;
};

}  // namespace igpu
