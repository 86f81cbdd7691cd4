// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <thread>

#include "igpu/log.h"
#include "igpu/page.h"
#include "igpu/units.h"
#include "server/push/delivery.h"
#include "server/push/wake_up.h"

namespace igpu::exporter {

// Reads one page and passes it to `use`. False: no page could be read in time, or `gone` was stopped.
using ReadPage = std::function<bool(std::stop_token gone, const std::function<void(const PageView&)>& use)>;

// Reads at each interval and queues the reading for every target. One thread reads, and one for each target delivers.
class Pusher {
 public:
  Pusher(Nanoseconds interval, ReadPage read, Log& log) : interval_(interval), read_(std::move(read)), log_(log) {}
  ~Pusher();  // does not wait for receivers or collectors
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

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
