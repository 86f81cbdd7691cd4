// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string_view>

#include "igpu/monitor.h"

namespace igpu {

// How long a caller waits: until `until`, or until `gone` is stopped.
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

// One run of the collectors. Any number of threads can wait for it, each for its own collectors and with its own limit;
// a caller that stops waiting does not end the run for the others, or for later callers. Waiting callers also watch the
// run: they leave a hanging collector behind. Any thread may call any function.
class ScrapeRun {
 public:
  virtual ~ScrapeRun() = default;
  virtual bool ended() const = 0;
  virtual bool includes(const CollectorSet& collectors) const = 0;
  virtual std::chrono::steady_clock::time_point began() const = 0;
  // Waits for the end. True: the run has ended; false: the limit was reached first.
  virtual bool wait(const WaitLimit& limit) = 0;
  // Waits for these collectors and returns their page. At the limit, the page lacks the unfinished ones and marks them
  // as failed. client: as ScrapeRequest. Null: `gone` was stopped.
  virtual std::shared_ptr<const ScrapeResult> result(const CollectorSet& collectors, const WaitLimit& limit,
                                                     std::string_view client) = 0;
};

}  // namespace igpu
