// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "igpu/flight.h"
#include "sampling/flight_trigger.h"
#include "sampling/frame.h"
#include "source/clients.h"

namespace igpu::sampling {

class Sampler;

struct FlightOptions {
  Nanoseconds length = std::chrono::seconds(60);  // before the event
  std::vector<FlightTrigger> triggers = {};
};

// Decides when the sampler's last frames are kept, and keeps them: a flight. One is recorded at a time; what happens
// meanwhile is counted in it. Faults are reported at a scrape, so they may be late; the ring is long enough for
// kLatest.
class FlightRecorder {
 public:
  static constexpr Nanoseconds kAfter = std::chrono::seconds(10);   // of the event
  static constexpr Nanoseconds kLatest = std::chrono::seconds(20);  // a later event has less before it
  // What is known of a fault is complete: several sources report it in one scrape.
  static constexpr Nanoseconds kSettles = std::chrono::seconds(1);
  static constexpr std::size_t kMostClients = 4096;

  FlightRecorder(FlightOptions options, std::shared_ptr<Flights> flights)
      : options_(std::move(options)), flights_(std::move(flights)) {}

  // SamplerOptions::history
  Nanoseconds history() const { return options_.length + kAfter + kLatest; }

  // A frame of one GPU, and then the end of the tick, which completes a flight that is due. The sampling thread.
  void add(const FrameLayout& layout, const SampleFrame& frame);
  void end_tick(Nanoseconds now, const Sampler& sampler);

  // The clients of a scrape. Any thread.
  void see_clients(const ClientSnapshot& snapshot);

 private:
  // How long the condition of a trigger has held for one engine or GT.
  struct Hold {
    std::optional<Nanoseconds> since;
    bool fired = false;    // once for each time that it holds
    bool working = false;  // idle_gap: the engine was busy, and has not been idle for long
    Nanoseconds gap{};
  };
  using Holds = std::array<Hold, kEngines>;  // by engine, or by GT

  void begin(FlightEvent event, Nanoseconds now);
  void hold(Hold& state, bool holds, Nanoseconds since, const FlightTrigger& trigger, FlightEvent event);
  void watch_gap(Hold& state, float busy, const SampleFrame& frame, const FlightTrigger& trigger, FlightEvent event);
  bool wants(FlightCause cause) const;
  Flight frozen(const FlightEvent& event, const Sampler& sampler) const;

  const FlightOptions options_;
  const std::shared_ptr<Flights> flights_;
  std::map<std::string, std::vector<Holds>, std::less<>> holds_;  // by device, then by trigger; the sampling thread

  struct Pending {
    FlightEvent event;
    Nanoseconds due{};
    std::uint64_t more = 0;
  };
  std::optional<Pending> pending_;  // the sampling thread

  mutable std::mutex mutex_;                                       // guards what follows
  std::vector<std::pair<std::uint64_t, Flight::Client>> clients_;  // by serial
};

}  // namespace igpu::sampling
