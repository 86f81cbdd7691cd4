// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "igpu/flight.h"
#include "sampling/flight_trigger.h"
#include "sampling/frame.h"
#include "source/clients.h"
#include "source/job_counts.h"

namespace igpu::sampling {

struct FlightOptions {
  Nanoseconds length = std::chrono::seconds(60);  // before the event
  std::vector<FlightTrigger> triggers = {};
  Nanoseconds interval = std::chrono::milliseconds(100);  // as SamplerOptions
};

// The jobs of one class of engines.
struct JobSums {
  double jobs = 0, queue_seconds = 0, run_seconds = 0;
};

// Keeps the sampler's last frames, and decides when they become a flight. One is recorded at a time; what happens
// meanwhile is counted in it, but a fault takes over a flight that another cause began. Faults are reported at a
// scrape, so they may be late: the frames reach back so far that one of up to kLatest ago still has its whole time
// before it.
class FlightRecorder {
 public:
  static constexpr Nanoseconds kAfter = std::chrono::seconds(10);  // of the event
  static constexpr Nanoseconds kLatest = std::chrono::minutes(1);
  // What is known of a fault is complete: several sources report it in one scrape.
  static constexpr Nanoseconds kSettles = std::chrono::seconds(1);
  // A collector that fails at every scrape is one event: until none has failed for so long.
  static constexpr Nanoseconds kStillFails = std::chrono::minutes(6);
  static constexpr std::size_t kMostClients = 4096;
  static constexpr std::size_t kMostJobSamples = 512;  // scrapes, of each GPU

  FlightRecorder(FlightOptions options, std::shared_ptr<Flights> flights)
      : options_(std::move(options)), flights_(std::move(flights)) {}

  // The sampling thread calls these. A GPU is bound before its first frame. The end of a tick completes a flight that
  // is due.
  void bind(const FrameLayout& layout);
  void add(const FrameLayout& layout, const SampleFrame& frame, bool same_layout);
  void end_tick(Nanoseconds now);
  std::size_t frame_bytes() const;

  // What a scrape found: clients, and what the kernel has counted of a GPU's jobs so far. Any thread.
  void see_clients(const ClientSnapshot& snapshot);
  void see_jobs(const std::string& device, Nanoseconds now, std::span<const JobCounts> counts);

 private:
  // How long the condition of a trigger has held for one engine or GT.
  struct Hold {
    std::optional<Nanoseconds> since;
    bool fired = false;    // once for each time that it holds
    bool working = false;  // idle_gap: the engine was busy, and has not been idle for long
    Nanoseconds gap{};
  };
  using Holds = std::array<Hold, kEngines>;  // by engine, or by GT
  // A GPU between binding and rebinding, when its layout may mean something else.
  struct Binding {
    FrameLayout layout;
    FrameRing frames;
  };
  struct RecordedGpu {
    std::optional<Binding> before;  // a fault may end with a GPU that is rebound
    Binding now;
    std::vector<Holds> holds;  // by trigger
  };
  struct Pending {
    FlightEvent event;
    Nanoseconds due{};
    std::uint64_t more = 0;
  };
  static constexpr std::size_t kJobClasses = 6;
  using JobSumsByClass = std::array<std::optional<JobSums>, kJobClasses>;
  struct CountedJobs {
    JobSumsByClass last;                                         // so far
    std::deque<std::pair<Nanoseconds, JobSumsByClass>> samples;  // since the previous scrape
  };

  Nanoseconds history() const { return options_.length + kAfter + kLatest; }
  void begin(FlightEvent event, Nanoseconds now, std::uint64_t more = 0);
  void watch(RecordedGpu& gpu, const FrameLayout& layout, const SampleFrame& frame);
  void hold(Hold& state, bool holds, Nanoseconds since, const FlightTrigger& trigger, FlightEvent event);
  void watch_gap(Hold& state, float busy, const SampleFrame& frame, const FlightTrigger& trigger, FlightEvent event);
  bool wants(FlightCause cause) const;
  Flight frozen(const FlightEvent& event) const;
  static void add_jobs(const std::string& device, const CountedJobs& jobs, Nanoseconds from, Nanoseconds to,
                       Flight& flight);

  const FlightOptions options_;
  const std::shared_ptr<Flights> flights_;

  // Of the sampling thread.
  std::map<std::string, RecordedGpu, std::less<>> gpus_;  // by PCI address
  std::optional<Pending> pending_;
  Nanoseconds last_failed_scrape_ = Nanoseconds::min() / 2;

  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, std::unordered_map<std::uint64_t, Flight::Client>, std::less<>> clients_;  // by GPU, by serial
  std::uint64_t clients_left_out_ = 0;                    // of the scrape that had most of them, since none had any
  Nanoseconds left_out_at_{};                             // the last such scrape
  std::map<std::string, CountedJobs, std::less<>> jobs_;  // by GPU
};

}  // namespace igpu::sampling
