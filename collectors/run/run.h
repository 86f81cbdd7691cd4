// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "run/core.h"

namespace igpu {

struct PageRequest {
  const CollectorSet& of_run;      // collectors of the run
  const CollectorSet& of_page;     // collectors of the page
  bool only_accumulating = false;  // as Registry::Request
  bool whole = false;              // the run has ended, and the page shows all of it
};

// The page of a run, or of the part of it that is done: the samples of the collectors, what the registry says about
// them (registry_metrics.h), and findings. Logs what is new about the run.
std::shared_ptr<const ScrapeResult> make_scrape_page(RegistryCore& core, const Progress& progress,
                                                     const PageRequest& request);

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

// One run: a worker thread executes its steps (run.cpp); threads that need its result wait for it, and leave behind a
// worker that hangs (run_wait.cpp). Any number of threads can wait, each for its own collectors and with its own limit;
// a caller that stops waiting does not end the run for the others, or for later callers.
class RegistryRun {
 public:
  // Abandons the hanging worker. Another worker then calls execute(epoch), unless epoch is negative.
  using Replace = std::function<void(int epoch)>;

  RegistryRun(std::shared_ptr<RegistryCore> core, const Registry::Request& request, Replace replace)
      : core_(std::move(core)),
        collectors_(request.collectors),
        only_accumulating_(request.only_accumulating),
        reads_clients_(request.reads_clients),
        replace_(std::move(replace)),
        number_(++core_->pass_number) {}

  // Any thread may call these.
  bool ended() const {
    const std::lock_guard lock(mutex_);
    return finished_;
  }
  bool includes(const CollectorSet& collectors) const {
    return !only_accumulating_ && collectors_.includes(collectors);
  }
  std::chrono::steady_clock::time_point began() const { return started_; }
  // Waits for the end. True: the run has ended; false: the limit was reached first.
  bool wait(const WaitLimit& limit);
  // Waits for these collectors and returns their page. At the limit, the page lacks the unfinished ones and marks them
  // as failed. client: as ScrapeRequest. Null: `gone` was stopped.
  std::shared_ptr<const ScrapeResult> result(const CollectorSet& collectors, const WaitLimit& limit,
                                             std::string_view client);

  // Called on a worker. Returns early if the run was handed to another worker meanwhile.
  void execute(int epoch);
  // Skips the steps that have not begun.
  void cut_short();

 private:
  template <class Interface>
  class PassOf;
  class Pass;
  class WholePass;
  // For waiting on threads; collectors measure with Machine::clock.
  using SteadyClock = std::chrono::steady_clock;

  void prepare();
  bool wanted(const Slot& slot) const;
  Outcome collect(Step& step);
  Outcome collect_gpu(Step& step);
  Outcome collect_machine(Step& step);
  Reading<const ClientSnapshot*> clients();

  class WakeWhenGone;
  std::shared_ptr<const ScrapeResult> shared_result(const CollectorSet& collectors, const WaitLimit& limit);
  template <class Done>
  bool wait(std::unique_lock<std::mutex>& lock, const WaitLimit& limit, Done done);
  bool has_finished(const CollectorSet& collectors) const;
  void leave_worker_behind(std::unique_lock<std::mutex>& lock);
  void finish(std::unique_lock<std::mutex>& lock);

  // The progress, with the time that the current step has taken so far. Requires the lock.
  Progress progress() const;
  std::shared_ptr<const ScrapeResult> page(const Progress& progress, const CollectorSet& collectors, bool whole) {
    return make_scrape_page(*core_, progress, {collectors_, collectors, only_accumulating_, whole});
  }

  const std::shared_ptr<RegistryCore> core_;
  const CollectorSet collectors_;
  const bool only_accumulating_;
  const bool reads_clients_;
  const Replace replace_;
  const std::uint64_t number_;
  const SteadyClock::time_point started_ = SteadyClock::now();

  mutable std::mutex mutex_;  // guards what follows, up to no_result_
  std::condition_variable changed_;
  int epoch_ = 0;
  bool prepared_ = false;
  bool replacing_ = false;
  bool ending_ = false;
  bool finished_ = false;
  unsigned waiting_for_some_ = 0;  // threads that wait for a part of the collectors
  std::size_t current_ = 0;
  SteadyClock::time_point current_since_ = started_;
  Progress progress_;
  std::shared_ptr<const ScrapeResult> result_;
  std::exception_ptr no_result_;

  std::mutex clients_mutex_;  // guards clients_
  std::optional<Reading<ClientSnapshot>> clients_;
  // Set before the first collector runs: whether the GPUs were listed, and the addresses of all GPUs and of those that
  // are not awake.
  bool listed_ = false;
  std::vector<std::string> chosen_, asleep_;
  FactBoard facts_{core_->waiting_facts};
};

}  // namespace igpu
