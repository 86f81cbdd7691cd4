// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "igpu/monitor.h"
#include "igpu/units.h"
#include "machine/device_users.h"
#include "machine/this_process.h"
#include "run/machine_parts.h"
#include "run/registry.h"

namespace igpu {

// When to scan after the kernel reported that a process got a GPU client. The counters of a process are lost when it
// ends, so the first scan comes soon. A long job is scanned less often: each gap is 1.125 times the one before, so at
// most about a ninth of a job's work comes after its last scan. A burst ends when the gap exceeds kLongest: scrapes are
// about as frequent.
//
// Scans take at most one kShare-th of a processor's time, however many processes come and go. Up to kSaved of unused
// time is kept, so that jobs after a pause are scanned in time even if one scan takes long.
class ScanBurst {
 public:
  static constexpr Nanoseconds kFirst = std::chrono::milliseconds(100);
  static constexpr Nanoseconds kLongest = std::chrono::seconds(15);
  static constexpr int kShare = 20;
  static constexpr Nanoseconds kSaved = std::chrono::seconds(2);

  void reported(Nanoseconds now) {
    gap_ = kFirst;
    const Nanoseconds soon = std::max(now + kFirst, not_before_);
    due_ = due_ ? std::min(*due_, soon) : soon;
  }
  // cost: the processor time of the scan that has just ended.
  void scanned(Nanoseconds now, Nanoseconds cost) {
    if (budget_at_) budget_ = std::min(budget_ + (now - *budget_at_) / kShare, kSaved);
    budget_at_ = now;
    budget_ -= cost;
    not_before_ = budget_ < Nanoseconds::zero() ? now - budget_ * kShare : now;
    if (!due_) return;
    gap_ += gap_ / 8;
    due_ = gap_ > kLongest ? std::nullopt : std::optional(std::max(now + gap_, not_before_));
  }
  std::optional<Nanoseconds> due() const { return due_; }

 private:
  Nanoseconds gap_ = kFirst;
  Nanoseconds budget_ = kSaved;
  std::optional<Nanoseconds> budget_at_;
  Nanoseconds not_before_ = Nanoseconds::min();
  std::optional<Nanoseconds> due_;
};

struct WaitLimit;

// A thread that sleeps in the kernel and calls `changed` whenever the kernel reports a change.
class ChangeListener {
 public:
  ChangeListener(ChangeSignal& signal, std::function<void()> changed)
      : signal_(signal), thread_([this, call = std::move(changed)] {
          name_this_thread("events");
          while (signal_.wait()) call();
        }) {}
  ~ChangeListener() {
    signal_.interrupt();
    thread_.join();
  }
  ChangeListener(const ChangeListener&) = delete;
  ChangeListener& operator=(const ChangeListener&) = delete;

 private:
  ChangeSignal& signal_;
  std::thread thread_;
};

// The members of a Monitor, and its housekeeping thread.
struct Monitor::State {
  using SteadyClock = std::chrono::steady_clock;

  std::shared_ptr<MachineParts> parts;
  MonitorOptions options;

  // One run at a time; see Monitor::scrape. The mutex guards what follows.
  std::mutex mutex;
  std::condition_variable_any changed;
  std::condition_variable housekeeping_wanted;  // separate, so that the end of a scrape does not wake housekeeping
  bool running = false;                         // a run is starting, or is one that callers cannot share
  std::shared_ptr<RegistryRun> shared_run;      // the last run that callers can share; it may have ended
  bool shared_run_planned = false;              // plan_accumulating() has been called after it
  std::list<CollectorSet> wanted;               // one entry per caller that waits for a run

  SteadyClock::time_point accumulating_due;  // deadline for reading the counters that advance only when read
  SteadyClock::time_point housekeeping_due;
  ScanBurst burst;  // scans between scrapes, on SteadyClock
  SteadyClock::time_point first_scrape_at;
  bool stopping = false;
  std::unique_ptr<ChangeListener> client_reports;  // null: the kernel reports no clients, or no collector uses it
  std::thread housekeeping;
  bool has_housekeeping = false;        // the thread exists
  std::thread::id housekeeping_id;      // set by the thread itself
  std::function<void()> wanted_thread;  // body of the thread that make_thread() asks for
  std::thread made_thread;
  std::exception_ptr thread_error;  // why the thread could not be started

  Registry registry;  // destroyed first: its destructor may still start a thread

  State(std::shared_ptr<MachineParts> machine_parts, const MonitorOptions& monitor_options, Log& log);
  ~State();

  // A thread inherits its rights from the thread that starts it. Threads that scrape may have dropped rights that
  // collectors need, so every collector thread is started by the housekeeping thread, or by the thread that constructs
  // the monitor.
  std::thread make_thread(std::function<void()> body);

  // Plans the next reading after a run, which may have read all, some or none of the accumulating counters.
  void plan_accumulating();

  // Plans the next reading after `run` ended. If no caller waited for the end, counters may be read once more than
  // necessary; that is harmless.
  void plan_after(const std::shared_ptr<RegistryRun>& run);

  // Reads between scrapes: RC6 and hwmon energy counters wrap unnoticed if they are not read in time, and the counters
  // of a short job are lost when it ends. Nothing else runs between scrapes.
  void run_housekeeping();
  SteadyClock::time_point next_reading() const;
  void read_between_scrapes(std::unique_lock<std::mutex>& lock);

  // Whether a collector that counts short jobs is enabled; it is read between scrapes.
  bool counts_short_jobs() const;

  // Returns a run with these collectors: joins the current run, or starts one when that has ended. Does not join a run
  // that exceeded the time limit of a collector, because its first values would be old. Also returns a run that began
  // after `since` and has ended. Null: the limit was reached before a run began.
  std::shared_ptr<RegistryRun> run_with(const CollectorSet& collectors, SteadyClock::time_point since,
                                        const WaitLimit& limit, std::unique_lock<std::mutex>& lock);

  // Registers a caller that waits for a run with these collectors.
  class RunRequest {
   public:
    RunRequest(State& state, std::unique_lock<std::mutex>& lock, const CollectorSet& collectors)
        : state_(state), lock_(lock), place_(state.wanted.insert(state.wanted.end(), collectors)) {}
    ~RunRequest() {
      if (!lock_.owns_lock()) lock_.lock();
      state_.wanted.erase(place_);
    }
    RunRequest(const RunRequest&) = delete;
    RunRequest& operator=(const RunRequest&) = delete;

   private:
    State& state_;
    std::unique_lock<std::mutex>& lock_;
    std::list<CollectorSet>::iterator place_;
  };

  // Starts a run for the collectors that all current waiters asked for.
  std::shared_ptr<RegistryRun> start_run(std::unique_lock<std::mutex>& lock);
};

}  // namespace igpu
