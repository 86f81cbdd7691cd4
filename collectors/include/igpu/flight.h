// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/units.h"

// What the flight recorder keeps: the samples of the time around a fault.
namespace igpu {

enum class FlightCause : std::uint8_t { hang, reset, wedged, engine_busy, throttled, idle_gap, scrape_failed, request };
inline constexpr std::size_t kFlightCauses = 8;
inline constexpr std::array<std::string_view, kFlightCauses> kFlightCauseNames{
    "hang", "reset", "wedged", "engine_busy", "throttled", "idle_gap", "scrape_failed", "request"};
constexpr std::string_view to_string(FlightCause cause) { return kFlightCauseNames[static_cast<std::size_t>(cause)]; }

// Why a flight is kept.
struct FlightEvent {
  FlightCause cause = FlightCause::request;
  std::string device;  // PCI address; "": the whole machine
  std::string detail;  // "vcs0", "job_timeout", "SIGUSR1"
  Nanoseconds time{};  // CLOCK_MONOTONIC; 0: when the recorder learns of it
};

struct FlightRequest : FlightEvent {
  std::uint64_t more = 0;  // of the same cause and GPU, before the recorder learned of the first
};

struct Flight {
  // One series of numbers: the values of an engine, a domain or a GT.
  struct Column {
    std::string name;  // "vcs0 busy", "gt0 frequency"
    std::string unit;  // "ratio", "watts", "hertz"; "": 0 or 1
  };
  struct Sample {
    Nanoseconds time{};
    std::string_view state;    // "sampled", "sleeping", "gone"; "scraped": not of the sampler
    std::uint32_t missed = 0;  // samples that were due and not taken since the previous one
  };
  // Numbers that belong together: one for what is sampled of a GPU, and one for what scrapes count of it.
  struct Gpu {
    std::string device;  // PCI address
    std::vector<Column> columns;
    std::vector<Sample> samples;  // oldest first
    std::vector<float> values;    // sample by sample, columns.size() each; NaN: not read
  };
  struct Client {
    std::string device;
    std::uint64_t id = 0;  // drm-client-id
    std::uint32_t pid = 0;
    std::string comm;             // "" if it is not known
    Nanoseconds first{}, last{};  // scrapes that saw it
    bool operator==(const Client&) const = default;
  };
  struct Fault {
    std::string device;
    std::string text;  // the kernel's line
    Nanoseconds time{};
  };

  std::uint64_t number = 0;  // from 1 on
  FlightEvent event;
  std::uint64_t more_events = 0;  // that came before it was complete
  Nanoseconds frozen{};           // when it was complete; CLOCK_MONOTONIC
  Nanoseconds unix_offset{};      // from the flight's times to the time since 1970, when it was complete
  std::vector<Gpu> gpus;
  std::vector<Client> clients;
  std::uint64_t more_clients = 0;  // for which there was no room
  std::vector<Fault> faults;
  std::uint64_t more_faults = 0;  // likewise
};

// Where the flight recorder and the program meet: requests go in, flights come out. Any thread.
class Flights {
 public:
  static constexpr std::size_t kMost = 10;

  // Asks for a flight. While one is being recorded this is counted in it. Nothing is lost: of a cause and a GPU there
  // is one request, which counts the others; without room for another GPU the last one counts them.
  void request(FlightEvent event) {
    const std::lock_guard lock(mutex_);
    const auto same = std::find_if(requests_.begin(), requests_.end(), [&event](const FlightRequest& known) {
      return known.cause == event.cause && known.device == event.device;
    });
    if (same != requests_.end()) {
      ++same->more;
    } else if (requests_.size() == kMostRequests) {
      ++requests_.back().more;
    } else {
      requests_.push_back(FlightRequest{std::move(event), 0});
    }
    waiting_ = true;
  }
  // A line that belongs into the flights of its time. The first lines about a fault say most: in a flood, the later
  // ones are only counted.
  void note(Flight::Fault fault) {
    const std::lock_guard lock(mutex_);
    while (!faults_.empty() && fault.time - faults_.front().time > kKeepFaults) faults_.pop_front();
    if (faults_.size() < kMostFaults) return faults_.push_back(std::move(fault));
    if (fault.time - last_left_out_ > kKeepFaults) left_out_ = 0;
    last_left_out_ = fault.time;
    ++left_out_;
  }
  // Those of this time, and how many more there were.
  std::pair<std::vector<Flight::Fault>, std::uint64_t> faults_between(Nanoseconds from, Nanoseconds to) const {
    const std::lock_guard lock(mutex_);
    std::vector<Flight::Fault> found;
    for (const Flight::Fault& fault : faults_)
      if (fault.time >= from && fault.time <= to) found.push_back(fault);
    return {std::move(found), last_left_out_ >= from ? left_out_ : 0};
  }

  // For the recorder, at every tick: one load if nothing was asked for.
  std::vector<FlightRequest> take_requests() {
    if (!waiting_) return {};
    const std::lock_guard lock(mutex_);
    waiting_ = false;
    return std::exchange(requests_, {});
  }

  // Gives the flight its number. The oldest one goes if there are too many.
  void add(Flight flight) {
    const std::lock_guard lock(mutex_);
    flight.number = ++last_number_;
    flight.unix_offset = std::chrono::system_clock::now().time_since_epoch() - flight.frozen;
    ++counts_[static_cast<std::size_t>(flight.event.cause)];
    kept_.push_back(std::make_shared<const Flight>(std::move(flight)));
    if (kept_.size() > kMost) kept_.pop_front();
    changed_.notify_all();
  }

  std::vector<std::shared_ptr<const Flight>> kept() const {  // oldest first
    const std::lock_guard lock(mutex_);
    return {kept_.begin(), kept_.end()};
  }
  std::array<std::uint64_t, kFlightCauses> counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  // Waits for a flight with a higher number than `number`: the oldest of them that is kept. Null: stopped.
  std::shared_ptr<const Flight> next_after(std::uint64_t number, const std::stop_token& stopped) const {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stopped, [&] { return last_number_ > number; })) return nullptr;
    for (const auto& flight : kept_)
      if (flight->number > number) return flight;
    return nullptr;
  }

 private:
  static constexpr std::size_t kMostRequests = 64;
  static constexpr std::size_t kMostFaults = 256;
  static constexpr Nanoseconds kKeepFaults = std::chrono::minutes(15);  // longer than a flight

  std::atomic<bool> waiting_{false};
  mutable std::mutex mutex_;  // guards what follows
  mutable std::condition_variable_any changed_;
  std::vector<FlightRequest> requests_;
  std::deque<Flight::Fault> faults_;
  Nanoseconds last_left_out_ = Nanoseconds::min() / 2;
  std::uint64_t left_out_ = 0;
  std::deque<std::shared_ptr<const Flight>> kept_;
  std::array<std::uint64_t, kFlightCauses> counts_{};
  std::uint64_t last_number_ = 0;
};

}  // namespace igpu
