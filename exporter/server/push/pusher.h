// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "igpu/log.h"
#include "igpu/page.h"
#include "igpu/units.h"
#include "server/push/push_target.h"
#include "server/self/own_metrics.h"

namespace igpu::exporter {

// The time until the next attempt: doubled after each failure, with jitter, so that many exporters do not reconnect to
// a receiver at the same time.
class Backoff {
 public:
  static constexpr std::chrono::milliseconds kFirst{1000}, kMost{60'000};
  static constexpr std::chrono::seconds kMostRequested{300};

  explicit Backoff(std::function<double()> random) : random_(std::move(random)) {}  // 0 <= random() < 1

  // retry_after: the delay that the receiver requested.
  std::chrono::milliseconds next(std::optional<std::chrono::seconds> retry_after) {
    const std::chrono::milliseconds full = delay_;
    delay_ = std::min(delay_ * 2, kMost);
    const double random = random_();
    const auto scaled = [](std::chrono::milliseconds time, double by) {
      return std::chrono::milliseconds(
          static_cast<std::chrono::milliseconds::rep>(static_cast<double>(time.count()) * by));
    };
    if (!retry_after) return scaled(full, 0.5 + random / 2);
    return std::clamp(*retry_after, std::chrono::seconds(0), kMostRequested) + scaled(kFirst, random);
  }
  void reset() { delay_ = kFirst; }

 private:
  std::function<double()> random_;
  std::chrono::milliseconds delay_ = kFirst;
};

// Readings that wait for their delivery, in order. When the queue is full, the oldest item that is not being delivered
// is dropped.
class PushQueue {
 public:
  struct Limits {
    std::size_t items = 64;  // a quarter of an hour at the default interval
    std::size_t bytes = std::size_t{32} << 20U;
  };
  PushQueue() : PushQueue(Limits{}) {}
  explicit PushQueue(Limits limits) : limits_(limits) {}

  // Returns the number of samples that were dropped to make room, or those of `item` if it is too large for the queue.
  std::uint64_t add(PushItem item) {
    if (item.bytes.size() > limits_.bytes) return item.samples;
    bytes_ += item.bytes.size();
    items_.push_back(std::make_shared<const PushItem>(std::move(item)));
    std::uint64_t dropped = 0;
    const std::size_t first = taken_ ? 1 : 0;
    while ((items_.size() > limits_.items || bytes_ > limits_.bytes) && items_.size() > first + 1) {
      const auto oldest = items_.begin() + static_cast<std::ptrdiff_t>(first);
      dropped += (*oldest)->samples;
      bytes_ -= (*oldest)->bytes.size();
      items_.erase(oldest);
    }
    return dropped;
  }

  // The oldest item, which stays in the queue; null: the queue is empty.
  std::shared_ptr<const PushItem> take() {
    if (items_.empty()) return nullptr;
    taken_ = true;
    return items_.front();
  }
  void give_back() { taken_ = false; }  // not delivered: it stays first
  void finish() {                       // delivered or refused
    taken_ = false;
    bytes_ -= items_.front()->bytes.size();
    items_.pop_front();
  }
  std::size_t size() const { return items_.size(); }

 private:
  Limits limits_;
  std::deque<std::shared_ptr<const PushItem>> items_;
  std::size_t bytes_ = 0;
  bool taken_ = false;
};

// One target with its queue and the thread that delivers.
class PushDelivery {
 public:
  PushDelivery(std::unique_ptr<PushTarget> target, PushCounters& counters, Log& log);
  ~PushDelivery();  // abandons the current attempt

  void start();  // the thread that delivers
  // Queues a reading. One thread at a time; never waits for the network.
  void add(const PageView& page, std::chrono::system_clock::time_point time);

 private:
  void run();
  void deliver_until_stopped();
  PushOutcome attempt(const PushItem& item);
  // Logs when a problem begins and when it ends, not each attempt.
  void report(const PushOutcome& outcome);
  // Counts the outcome of an attempt. False: the item stays queued for another attempt.
  bool account(const PushItem& item, const PushOutcome& outcome);

  std::unique_ptr<PushTarget> target_;
  PushCounters& counters_;
  Log& log_;
  WakeUp stop_;
  WakeUp work_;  // an item was added, or stop_
  std::mutex mutex_;
  PushQueue queue_;      // guarded by mutex_
  std::string problem_;  // as logged last; "": none
  Backoff backoff_;
  std::thread thread_;
};

// Reads one page and passes it to `use`. False: no page could be read in time, or `gone` was stopped.
using ReadPage = std::function<bool(std::stop_token gone, const std::function<void(const PageView&)>& use)>;

// Reads at each interval and queues the reading for every target. One thread reads, and one for each target delivers.
class Pusher {
 public:
  Pusher(Nanoseconds interval, ReadPage read, Log& log) : interval_(interval), read_(std::move(read)), log_(log) {}
  ~Pusher();  // does not wait for receivers or collectors

  // Call before start().
  void add(std::unique_ptr<PushTarget> target, PushCounters& counters);
  void start();

 private:
  void run(const std::stop_token& gone);
  void read_once(const std::stop_token& gone);

  Nanoseconds interval_;
  ReadPage read_;
  Log& log_;
  std::list<PushDelivery> deliveries_;
  WakeUp stop_;
  bool reads_ = true;  // the last reading succeeded
  std::jthread thread_;
};

}  // namespace igpu::exporter
