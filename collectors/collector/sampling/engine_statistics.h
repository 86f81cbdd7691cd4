// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/sampling/frame.h"
#include "igpu/units.h"

namespace igpu::sampling {

// How many observations fell into each bucket, and their sum. The last bucket has no bound.
template <std::size_t B>
struct Histogram {
  std::array<std::uint64_t, B + 1> counts{};
  double sum = 0;

  void observe(const std::array<double, B>& bounds, double value) {
    // A bound is part of its bucket.
    const auto bucket = std::ranges::lower_bound(bounds, value) - bounds.begin();
    ++counts[static_cast<std::size_t>(bucket)];
    sum += value;
  }
};

inline constexpr std::array kUtilizationBounds{0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99};
inline constexpr std::array kGapBounds{0.1, 0.25, 0.5, 1.0, 5.0};

// Statistics over the samples of one engine.
class EngineStatistics {
 public:
  // Below this an engine is idle.
  static constexpr double kIdle = 0.05;
  // Seconds. A longer idle time is the end of the work, not a gap in it. The PMU of xe is closed after the same time.
  static constexpr double kLongestGap = 60;

  // busy: 0..1, the mean over `window`, which ends now. If it is `saturated` or more, the whole window counts as
  // saturated time.
  void add(double busy, Nanoseconds window, double saturated) {
    const double seconds = to_seconds(window).value;
    observed_ = true;
    utilization_.observe(kUtilizationBounds, busy);
    if (busy >= saturated) saturated_seconds_ += seconds;
    if (busy < kIdle) {
      gap_ += seconds;
      if (gap_ > kLongestGap) working_ = false;
      return;
    }
    if (working_ && gap_ > 0) gaps_.observe(kGapBounds, gap_);
    working_ = true;
    gap_ = 0;
  }

  // Call when the engine has not been observed for a time. A gap that began before is dropped, because its end is
  // unknown.
  void interrupt() {
    working_ = false;
    gap_ = 0;
  }

  bool observed() const { return observed_; }
  const Histogram<kUtilizationBounds.size()>& utilization() const { return utilization_; }
  const Histogram<kGapBounds.size()>& gaps() const { return gaps_; }
  Seconds saturated() const { return Seconds{saturated_seconds_}; }

 private:
  Histogram<kUtilizationBounds.size()> utilization_;
  Histogram<kGapBounds.size()> gaps_;
  bool observed_ = false;  // at least once
  double saturated_seconds_ = 0;
  bool working_ = false;  // it was busy, and has not been idle for long
  double gap_ = 0;        // seconds below kIdle since then
};

// Largest and smallest of the values of one series; kNothing: there were none.
struct Extremes {
  float least = kNothing;
  float most = kNothing;

  void add(float value) { merge({value, value}); }
  void merge(const Extremes& other) {
    if (!is_value(other.most)) return;
    least = is_value(least) ? std::min(least, other.least) : other.least;
    most = is_value(most) ? std::max(most, other.most) : other.most;
  }
};

// Running extremes for each client over the time since its last scrape. Every value counts in the next scrape of each
// client, whatever its interval, and no samples are stored. An unknown client, or one that has not scraped for kKept,
// gets the extremes of the last kLongest, which are kept for each minute. Not thread-safe.
class ClientWindows {
 public:
  static constexpr Nanoseconds kLongest = std::chrono::minutes(5);
  // A client that scrapes every five minutes may come a little late.
  static constexpr Nanoseconds kKept = kLongest + std::chrono::minutes(1);
  static constexpr std::size_t kMostClients = 32;
  // Limit for each address, so that invented names cannot displace the clients at other addresses.
  static constexpr std::ptrdiff_t kMostOfOneAddress = 4;

  void add_series(std::size_t count) {
    for_each([count](Window& window) { window.values.resize(window.values.size() + count); });
    series_ += count;
  }
  std::size_t series() const { return series_; }

  // Clears the values of `count` series from `first` on.
  void clear(std::size_t first, std::size_t count) {
    for_each([&](Window& window) { std::fill_n(window.values.begin() + static_cast<long>(first), count, Extremes()); });
  }

  // Called before the values of a tick are added.
  void begin_tick(Nanoseconds now) {
    constexpr Nanoseconds kMinute = kLongest / kMinutes;
    if (now - minute_began_ >= kMinute) {
      minute_ = (minute_ + 1) % kMinutes;
      minute_began_ = now;
      minutes_[minute_].begin = now;
      std::ranges::fill(minutes_[minute_].values, Extremes());
    }
    std::erase_if(clients_, [now](const Client& client) { return now - client.window.begin > kKept; });
  }
  void add(std::size_t series, float value) {
    minutes_[minute_].values[series].add(value);
    for (Client& client : clients_) client.window.values[series].add(value);
  }

  // Returns the extremes of this client's window, by series, and begins its next window. Valid until the next call.
  // name: identifies the client; its first line is the client's address.
  const std::vector<Extremes>& take_window(std::string_view name, Nanoseconds now) {
    auto client = std::ranges::find(clients_, name, &Client::name);
    if (client != clients_.end() && now - client->window.begin <= kKept) {
      taken_ = client->window.values;
    } else {
      taken_.assign(series_, Extremes());
      for (const Window& minute : minutes_)
        if (now - minute.begin <= kLongest)
          for (std::size_t i = 0; i < series_; ++i) taken_[i].merge(minute.values[i]);
      if (client == clients_.end()) client = place_for(name);
    }
    client->window.begin = now;
    client->window.values.assign(series_, Extremes());
    return taken_;
  }

 private:
  static constexpr std::size_t kMinutes = 5;

  struct Window {
    Nanoseconds begin = Nanoseconds::min() / 2;
    std::vector<Extremes> values;
  };
  struct Client {
    std::string name;
    Window window;
  };

  template <class F>
  void for_each(F&& f) {
    for (Window& minute : minutes_) f(minute);
    for (Client& client : clients_) f(client.window);
  }
  static std::string_view address_of(std::string_view name) { return name.substr(0, name.find('\n')); }
  // If there is no room, evicts the client whose last scrape is the oldest.
  std::vector<Client>::iterator place_for(std::string_view name) {
    const auto is_neighbour = [&](const Client& client) { return address_of(client.name) == address_of(name); };
    const bool among_neighbours = std::ranges::count_if(clients_, is_neighbour) >= kMostOfOneAddress;
    if (!among_neighbours && clients_.size() < kMostClients) {
      clients_.push_back({std::string(name), {}});
      return clients_.end() - 1;
    }
    auto oldest = clients_.end();
    for (auto client = clients_.begin(); client != clients_.end(); ++client)
      if ((!among_neighbours || is_neighbour(*client)) &&
          (oldest == clients_.end() || client->window.begin < oldest->window.begin))
        oldest = client;
    oldest->name = name;
    return oldest;
  }

  std::size_t series_ = 0;
  std::array<Window, kMinutes> minutes_;
  std::size_t minute_ = 0;
  Nanoseconds minute_began_ = Nanoseconds::min() / 2;
  std::vector<Client> clients_;
  std::vector<Extremes> taken_;
};

}  // namespace igpu::sampling
