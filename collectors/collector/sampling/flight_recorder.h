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
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "collector/sampling/frame.h"
#include "igpu/flight.h"
#include "igpu/units.h"
#include "kernel/clients/clients.h"
#include "trace/job_counts.h"

namespace igpu::sampling {

// A condition that starts a flight without a fault:
//   engine_busy{class=video}>0.98/5s   an engine was busier than that for that long
//   throttled/2s                       a GT's frequency was limited for that long
//   idle_gap{class=video}>0.5s         a working engine was idle for longer than that, and works again
//   scrape_failed                      a collector failed in a scrape
// Without {class=...} it applies to every engine.
struct FlightTrigger {
  FlightCause cause = FlightCause::scrape_failed;
  std::string_view engine_class = {};  // "": any
  double above = 0;                    // busy, 0..1
  Nanoseconds length{};
  bool operator==(const FlightTrigger&) const = default;
};

// Returns the trigger or an error: one line that names the nearest word and everything that is allowed.
std::variant<FlightTrigger, std::string> parse_flight_trigger(std::string_view text);

// The error of parse_flight_trigger(); "" for a valid trigger. For OptionDescriptor::refusal().
std::string refusal_of_flight_trigger(std::string_view text);

struct FlightOptions {
  Nanoseconds length = std::chrono::seconds(60);  // before the event
  std::vector<FlightTrigger> triggers = {};
  Nanoseconds interval = std::chrono::milliseconds(100);  // as SamplerOptions
};

// The jobs of one class of engines.
struct JobSums {
  double jobs = 0, queue_seconds = 0, run_seconds = 0;
};

// Keeps the sampler's last frames and decides when to record them as a flight. One flight is recorded at a time. Events
// during a recording are only counted in it, except that a fault replaces an event of another cause, and a trigger a
// request. Faults are reported by scrapes, so they may be late: frames are kept long enough that a fault of up to
// kLatest ago has its full FlightOptions::length before it.
class FlightRecorder {
 public:
  static constexpr Nanoseconds kAfter = std::chrono::seconds(10);  // of the event
  static constexpr Nanoseconds kLatest = std::chrono::minutes(1);
  // Several sources report a fault within one scrape. After this time their reports are complete.
  static constexpr Nanoseconds kSettles = std::chrono::seconds(1);
  // Failed scrapes that are no further apart than this are one event.
  static constexpr Nanoseconds kStillFails = std::chrono::minutes(6);
  static constexpr std::size_t kMostClients = 4096;
  static constexpr std::size_t kMostJobSamples = 512;  // one for each scrape, for each GPU

  FlightRecorder(FlightOptions options, std::shared_ptr<Flights> flights)
      : options_(std::move(options)), flights_(std::move(flights)) {}

  // Called by the sampling thread: bind() before a GPU's first frame, end_tick() after the frames of a tick, which
  // completes a flight that is due.
  void bind(const FrameLayout& layout);
  void add(const FrameLayout& layout, const SampleFrame& frame, bool same_layout);
  void end_tick(Nanoseconds now);

  // Called by a scrape, on any thread: the clients, and the kernel's counts of a GPU's jobs so far.
  void see_clients(const ClientSnapshot& snapshot);
  void see_jobs(const std::string& device, Nanoseconds now, std::span<const JobCounts> counts);

 private:
  // How long the condition of a trigger has held for one engine or GT.
  struct Hold {
    std::optional<Nanoseconds> since;
    bool fired = false;    // the event was reported; again only after the condition has ended
    bool working = false;  // idle_gap: the engine was busy, and has not been idle for long
    Nanoseconds gap{};
  };
  using Holds = std::array<Hold, kEngines>;  // by engine, or by GT
  // The frames of one binding of a GPU. After a rebind its layout may have another meaning.
  struct Binding {
    FrameLayout layout;
    FrameRing frames;
  };
  struct RecordedGpu {
    std::optional<Binding> before;  // the driver may rebind a GPU after a fault
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
  bool has_trigger(FlightCause cause) const;
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
  std::uint64_t clients_left_out_ = 0;                    // the most of one scrape; 0 again after history()
  Nanoseconds left_out_at_{};                             // time of the last scrape that left clients out
  std::map<std::string, CountedJobs, std::less<>> jobs_;  // by GPU
};

}  // namespace igpu::sampling
