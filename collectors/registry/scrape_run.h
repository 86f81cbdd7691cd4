// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "igpu/monitor.h"

namespace igpu {

// How long a caller waits: until then at most, and no longer once `gone` is stopped.
struct WaitLimit {
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  std::stop_token gone{};

  static WaitLimit within(Nanoseconds time, std::stop_token gone = {}) {
    const auto now = std::chrono::steady_clock::now();
    const bool endless = time >= std::chrono::steady_clock::time_point::max() - now;
    return {endless ? std::chrono::steady_clock::time_point::max() : now + std::max(time, Nanoseconds(0)),
            std::move(gone)};
  }
  bool over() const { return gone.stop_requested() || std::chrono::steady_clock::now() >= until; }
};

// One run of the collectors, from its start to its end. Any number of threads wait for it, each for the collectors it
// asked for and as long as it likes; none of them cuts it short for the others, and it continues to its end for later
// callers. Waiting callers also monitor it: a collector that hangs is left behind. All functions: any
// thread.
class ScrapeRun {
 public:
  virtual ~ScrapeRun() = default;
  virtual bool ended() const = 0;
  virtual bool includes(const CollectorSet& collectors) const = 0;
  virtual Nanoseconds age() const = 0;
  // True: the run has ended.
  virtual bool wait(const WaitLimit& limit) = 0;
  // The page of these collectors as soon as they have finished, or at the limit without the unfinished ones, which are
  // marked. Null: `gone` was stopped.
  virtual std::shared_ptr<const ScrapeResult> result(const CollectorSet& collectors, const WaitLimit& limit) = 0;
};

}  // namespace igpu
