// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "igpu/log.h"
#include "server/push/backoff.h"
#include "server/push/push_metrics.h"
#include "server/push/push_target.h"
#include "server/push/queue.h"
#include "server/push/wake_up.h"

namespace igpu::exporter {

// One target with its queue and the thread that delivers.
class PushDelivery {
 public:
  PushDelivery(std::unique_ptr<PushTarget> target, PushCounters& counters, Log& log);
  ~PushDelivery();  // abandons the current attempt
  PushDelivery(const PushDelivery&) = delete;
  PushDelivery& operator=(const PushDelivery&) = delete;

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

}  // namespace igpu::exporter
