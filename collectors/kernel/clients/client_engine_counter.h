// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/held_counter.h"
#include "kernel/clients/clients.h"
#include "kernel/sysfs/clock_rate.h"

namespace igpu {

// The engine time of one DRM client on one class of engines, in the client's own unit: i915 prints nanoseconds, xe
// prints GPU cycles beside the GPU's timestamp.
//
// The kernel corrects the counters of running contexts by far less than a second: after such a step back the earlier
// value is held. A counter that steps back further was reset. xe adds up 32-bit context timestamps, and on some kernels
// a wraparound of one lowers the sum by 2^32. This is undone if the GPU's timestamp shows that a wraparound was
// possible.
class ClientEngineCounter {
 public:
  struct Step : HeldCounter::Step {
    bool spoiled = false;  // a correction too large for its window, which gets no ratio
  };

  // engine must be present(). clock learns from the GPU's timestamp.
  Step advance(const ClientEngine& engine, Nanoseconds time, ClockRate& clock) {
    Step step;
    if (engine.busy_ns) {
      static_cast<HeldCounter::Step&>(step) = counter_.advance(*engine.busy_ns, kHeldNanoseconds);
      step.spoiled = step.stepped_back > kHeldNanoseconds / kSpoilingPart;
      return step;
    }
    const std::uint64_t lap = possible_lap(engine);
    if (engine.total_cycles) {
      last_total_ = engine.total_cycles;
      clock.observe(time, *engine.total_cycles);
    }
    static_cast<HeldCounter::Step&>(step) = counter_.advance(*engine.cycles, kHeldCycles, lap);
    step.spoiled = step.stepped_back > kHeldCycles / kSpoilingPart;
    return step;
  }

  // Whether the client has counted so much less than before that it may be another one under the same id (only i915,
  // which counts nanoseconds, reuses ids). far: only if the step exceeds every correction.
  bool would_step_back(const ClientEngine& engine, bool far) const {
    return engine.busy_ns && counter_.would_step_back(*engine.busy_ns, kHeldNanoseconds / (far ? 1 : kSpoilingPart));
  }

  // The most that the class can have gained in this time, in the client's unit. Kernels publish counts in lumps, so a
  // little more than the elapsed time is possible.
  static double most(const ClientEngine& engine, Nanoseconds elapsed, std::optional<double> hertz) {
    const double seconds = to_seconds(elapsed).value;
    if (engine.busy_ns) return possible(seconds * 1e9, static_cast<double>(kHeldNanoseconds), engine);
    return possible(seconds * hertz.value_or(kFastestClock), static_cast<double>(kHeldCycles), engine);
  }

 private:
  static constexpr std::uint64_t kHeldNanoseconds = 1'000'000'000;
  static constexpr std::uint64_t kHeldCycles = 19'200'000;
  static constexpr std::uint64_t kSpoilingPart = 100;  // the part of a held value that spoils a window
  static constexpr double kFastestClock = 38.4e6;
  static constexpr std::uint32_t kMostEngines = 64;  // a file that reports more is not believed

  static double possible(double passed, double slack, const ClientEngine& engine) {
    return (passed * 1.25 + slack) * std::min(engine.capacity, kMostEngines);
  }
  std::uint64_t possible_lap(const ClientEngine& engine) const {
    if (!engine.total_cycles || !last_total_ || *engine.total_cycles <= *last_total_) return 0;
    const auto passed = static_cast<double>(*engine.total_cycles - *last_total_);
    return static_cast<std::uint64_t>(possible(passed, static_cast<double>(kHeldCycles), engine));
  }

  HeldCounter counter_;
  std::optional<std::uint64_t> last_total_;
};

}  // namespace igpu
