// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/reading.h"
#include "igpu/units.h"
#include "kernel/device/engine_class.h"

// Facts that the collector engines reports, for each GPU whose engine counters it has read.
namespace igpu {

// Seconds of engine time by EngineClass, added up over the engines of the class; nullopt if the GPU has no such engine.
struct EngineSeconds : std::array<std::optional<double>, kEngineClasses> {};

// Engine time of one SR-IOV virtual function, as the PMU of its physical function counts it.
struct VfEngineTime {
  std::uint32_t vf = 0;  // from 1
  std::string gt, engine;
  std::string_view engine_class;
  std::uint64_t nanoseconds = 0;  // only grows
  std::optional<Ratio> ratio;     // of the window; nullopt: there is none yet, or the PMU is closed
};
// Of a GPU that has virtual functions.
struct VfEngines {
  Reading<Unit> counted = Absent{Reason::disabled};  // a value: the PMU counts the engines of each function
  std::vector<VfEngineTime> times;                   // of the enabled functions
  Reading<std::uint32_t> enabled = 0U;               // number of enabled functions; a failure: not known now
};

}  // namespace igpu
