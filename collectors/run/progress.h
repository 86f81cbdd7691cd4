// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metric/sample_sink.h"
#include "run/gpu_unit.h"

namespace igpu {

// The result of a step.
enum class Outcome { pending, collected, suspended, left_behind, late };

// One collector of one GPU, or of the machine, in one run.
struct Step {
  std::shared_ptr<GpuUnit> unit;  // null: a collector of the machine
  Slot* slot;
  PowerReading power;
  std::shared_ptr<SampleSink> sink;
  Outcome outcome = Outcome::pending;
  Nanoseconds duration{};
  bool walked = false;  // the collector asked for the clients

  std::string device() const { return unit ? unit->gpu.address : std::string(); }
};

struct WalkFacts {
  Nanoseconds duration{};
  bool complete = false;
  std::size_t blocks_skipped = 0;
  std::string_view way;
  std::optional<Nanoseconds> age;  // of the oldest process scan that was used
};

// State of a run in progress.
struct Progress {
  bool listed = false;  // the GPUs have been listed
  std::vector<Step> steps;
  std::vector<std::shared_ptr<GpuUnit>> units;
  std::optional<Failure> discovery_failed;
  std::optional<WalkFacts> walk;
  // Samples that differ by client, and the collector that provides them; null if there are none.
  std::shared_ptr<ClientSamples> by_client;
  const CollectorInfo* by_client_of = nullptr;
};

}  // namespace igpu
