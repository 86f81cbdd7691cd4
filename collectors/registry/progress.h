// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "metric/sample_sink.h"
#include "registry/gpu_unit.h"

namespace igpu {

// What became of a step.
enum class Outcome { pending, collected, suspended, left_behind, late };

// One collector of one GPU in one run.
struct Step {
  std::shared_ptr<GpuUnit> unit;
  Slot* slot;
  GpuUnit::PowerReading power;
  std::shared_ptr<SampleSink> sink;
  Outcome outcome = Outcome::pending;
  Nanoseconds duration{};
  bool walked = false;  // it asked for the clients
};

struct WalkFacts {
  Nanoseconds duration{};
  bool complete = false;
  std::size_t blocks_skipped = 0;
};

// A run as far as it has come.
struct Progress {
  bool listed = false;  // the GPUs are known
  std::vector<Step> steps;
  std::vector<std::shared_ptr<GpuUnit>> units;
  std::optional<Failure> discovery_failed;
  std::optional<WalkFacts> walk;
};

}  // namespace igpu
