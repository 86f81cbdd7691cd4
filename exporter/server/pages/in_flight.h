// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/monitor.h"

namespace igpu::exporter {

// Limits concurrent requests, shares the slots fairly between clients, and lets shutdown drain them. Thread-safe.
//
// When all slots are taken, a client that holds fewer than another gets one: the newest request of the client with the
// most slots loses its slot. Among requests of one client the earlier ones keep theirs. A request whose client has
// disconnected frees its slot at once.
class InFlight {
 public:
  explicit InFlight(unsigned limit) : limit_(limit) {}  // 0: no limit

 private:
  struct Place;

 public:
  class Slot {
   public:
    Slot() = default;
    explicit operator bool() const { return place_ != nullptr; }
    // Stopped when the client has disconnected, or another client got the slot.
    std::stop_token when_lost() const { return place_ ? place_->lost.get_token() : std::stop_token(); }

   private:
    friend class InFlight;
    explicit Slot(std::unique_ptr<Place> place) : place_(std::move(place)) {}
    std::unique_ptr<Place> place_;
  };

  // An empty result: too many requests. gone: stopped when the client has disconnected.
  Slot enter(std::string_view client, std::stop_token gone) {
    auto place = std::make_unique<Place>(*this, client);
    std::stop_source loser(std::nostopstate);
    {
      const std::lock_guard lock(mutex_);
      if (limit_ != 0 && holding_.size() >= limit_) {
        Place* victim = victim_of(client);
        if (victim == nullptr) return {};
        give_up(*victim);
        loser = victim->lost;
      }
      place->at = holding_.insert(holding_.end(), place.get());
      place->holds = true;
      ++under_way_;
      place->entered = true;
      ++entries_;
    }
    if (loser.stop_possible()) loser.request_stop();
    place->when_gone.emplace(std::move(gone), Leave{*place});  // runs immediately if already stopped
    return Slot(std::move(place));
  }

  // The number of requests so far that got a slot. If it has grown after a failed attempt, the next attempt may
  // succeed.
  std::uint64_t entries() const {
    const std::lock_guard lock(mutex_);
    return entries_;
  }

  // Requests that entered and have not left, including those that lost their slot.
  std::size_t running() const {
    const std::lock_guard lock(mutex_);
    return under_way_;
  }

  // Waits until no request is running. False: some still run after `at_most`.
  bool wait_until_idle(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, at_most, [this] { return under_way_ == 0; });
  }

 private:
  using Places = std::list<Place*>;  // in order of entry

  struct Leave {
    Place& place;
    void operator()() const noexcept {
      {
        const std::lock_guard lock(place.owner.mutex_);
        place.owner.give_up(place);
      }
      place.lost.request_stop();
    }
  };

  struct Place {
    Place(InFlight& its_owner, std::string_view its_client) : owner(its_owner), client(its_client) {}
    ~Place() {
      when_gone.reset();
      if (entered) owner.leave(*this);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    InFlight& owner;
    const std::string client;
    std::stop_source lost;
    Places::iterator at;
    bool holds = false;
    bool entered = false;
    std::optional<std::stop_callback<Leave>> when_gone;
  };

  // The newest request of the client with the most slots, if it has at least two more than this one. Requires the lock.
  Place* victim_of(std::string_view client) const {
    const auto held_by = [this](std::string_view name) {
      return std::ranges::count_if(holding_, [&](const Place* place) { return place->client == name; });
    };
    Place* newest = nullptr;
    auto most = held_by(client) + 1;
    for (auto place = holding_.rbegin(); place != holding_.rend(); ++place) {
      const auto held = held_by((*place)->client);
      if (held <= most) continue;
      most = held;
      newest = *place;
    }
    return newest;
  }

  // Requires the lock.
  void give_up(Place& place) {
    if (!place.holds) return;
    holding_.erase(place.at);
    place.holds = false;
  }

  void leave(Place& place) {
    const std::lock_guard lock(mutex_);
    give_up(place);
    if (--under_way_ == 0) idle_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  const unsigned limit_;
  Places holding_;
  std::uint64_t entries_ = 0;
  std::size_t under_way_ = 0;  // including those that lost their slot and have not finished yet
};

// Source of the pages' data: a Monitor in the program, a fake in tests.
class ScrapeSource {
 public:
  virtual ~ScrapeSource() = default;
  virtual std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest& request) = 0;
  virtual std::vector<Gpu> gpus() = 0;
  virtual std::vector<std::string> enabled_collectors() const = 0;
};

class MonitorSource final : public ScrapeSource {
 public:
  explicit MonitorSource(Monitor& monitor) : monitor_(monitor) {}
  std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest& request) override { return monitor_.scrape(request); }
  std::vector<Gpu> gpus() override { return monitor_.gpus(); }
  std::vector<std::string> enabled_collectors() const override { return monitor_.enabled_collectors(); }

 private:
  Monitor& monitor_;
};

}  // namespace igpu::exporter
