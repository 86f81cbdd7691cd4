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
#include <map>
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
constexpr bool is_fault(FlightCause cause) { return cause <= FlightCause::wedged; }

// Why a flight is kept.
struct FlightEvent {
  FlightCause cause = FlightCause::request;
  std::string device;  // PCI address; "": the whole machine
  std::string detail;  // "vcs0", "job_timeout", "SIGUSR1"
  Nanoseconds time{};  // CLOCK_MONOTONIC; 0: when the recorder learns of it
  // The kernel's line about it, as passed to Flights::note(), with the same time. The flight contains it even if note()
  // left it out. "": none
  std::string line = {};
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
  std::uint64_t more_faults = 0;  // lines that were left out, in the seconds of the flight
};

// Where the flight recorder and the program meet: requests go in, flights come out. Any thread.
class Flights {
 public:
  static constexpr std::size_t kMost = 10;

  // Requests a flight. While one is being recorded, the request is counted in it. No request is lost: there is one for
  // each cause and GPU, which counts its repetitions; without room for another, the last one counts it.
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
  // Adds a line to the flights of its time. Of too many lines the first and the last are kept, and those between them
  // are counted.
  void note(Flight::Fault fault) {
    const std::lock_guard lock(mutex_);
    const Nanoseconds oldest = fault.time - kKeepFaults;
    while (!faults_.empty() && faults_.front().time < oldest) faults_.pop_front();
    left_out_.erase(left_out_.begin(), left_out_.lower_bound(second_of(oldest)));
    faults_.push_back(std::move(fault));
    if (faults_.size() <= kMostFaults) return;
    const auto middle = faults_.begin() + kMostFaults / 2;
    ++left_out_[second_of(middle->time)];
    faults_.erase(middle);
  }
  // The lines of this time, and the number of lines that were left out in its seconds.
  std::pair<std::vector<Flight::Fault>, std::uint64_t> faults_between(Nanoseconds from, Nanoseconds to) const {
    const std::lock_guard lock(mutex_);
    std::vector<Flight::Fault> found;
    for (const Flight::Fault& fault : faults_)
      if (fault.time >= from && fault.time <= to) found.push_back(fault);
    std::uint64_t more = 0;
    const auto end = left_out_.upper_bound(second_of(to));
    for (auto second = left_out_.lower_bound(second_of(from)); second != end; ++second) more += second->second;
    return {std::move(found), more};
  }

  // For the recorder, at every tick: one load if nothing was asked for.
  std::vector<FlightRequest> take_requests() {
    if (!waiting_) return {};
    const std::lock_guard lock(mutex_);
    waiting_ = false;
    return std::exchange(requests_, {});
  }

  // Gives the flight its number and keeps it. If there are too many, the oldest requested flight is dropped, or else
  // the oldest. The new one is never dropped, so requests displace at most one fault.
  void add(Flight flight) {
    const std::lock_guard lock(mutex_);
    flight.number = ++last_number_;
    flight.unix_offset = std::chrono::system_clock::now().time_since_epoch() - flight.frozen;
    ++counts_[static_cast<std::size_t>(flight.event.cause)];
    kept_.push_back(std::make_shared<const Flight>(std::move(flight)));
    if (kept_.size() > kMost) {
      const auto asked_for = std::find_if(kept_.begin(), kept_.end() - 1,
                                          [](const auto& one) { return one->event.cause == FlightCause::request; });
      kept_.erase(asked_for == kept_.end() - 1 ? kept_.begin() : asked_for);
    }
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
  static std::chrono::seconds second_of(Nanoseconds time) { return std::chrono::floor<std::chrono::seconds>(time); }

  std::atomic<bool> waiting_{false};
  mutable std::mutex mutex_;  // guards what follows
  mutable std::condition_variable_any changed_;
  std::vector<FlightRequest> requests_;
  std::deque<Flight::Fault> faults_;
  std::map<std::chrono::seconds, std::uint64_t> left_out_;  // lines that note() left out, by their second
  std::deque<std::shared_ptr<const Flight>> kept_;
  std::array<std::uint64_t, kFlightCauses> counts_{};
  std::uint64_t last_number_ = 0;
};

}  // namespace igpu
