// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "base/scan_burst.h"
#include "igpu/monitor.h"
#include "monitor/change_listener.h"
#include "monitor/machine_parts.h"
#include "registry/registry.h"

namespace igpu {

// What a Monitor is made of, and the thread that it keeps.
struct Monitor::State {
  using SteadyClock = std::chrono::steady_clock;

  std::shared_ptr<MachineParts> parts;
  MonitorOptions options;

  // One run at a time; see Monitor::scrape.
  std::mutex mutex;
  std::condition_variable_any changed;
  std::condition_variable housekeeping_wanted;  // apart: a scrape that ends shall not wake that thread
  bool running = false;                         // a run that cannot be shared yet, or ever
  std::shared_ptr<ScrapeRun> shared_run;        // the last one that could be shared; it may have ended
  bool shared_run_planned = false;              // plan_accumulating() knows of it
  std::uint64_t runs_started = 0;               // that were shared
  std::list<CollectorSet> wanted;               // by those who wait for a run

  SteadyClock::time_point accumulating_due;  // when counters that advance only when read must be read at the latest
  SteadyClock::time_point housekeeping_due;
  ScanBurst burst;  // scans between scrapes, on SteadyClock
  SteadyClock::time_point first_scrape_at;
  bool stopping = false;
  std::unique_ptr<ChangeListener> client_reports;  // null: there are none, or nobody wants them
  std::thread housekeeping;
  bool has_housekeeping = false;        // that thread exists
  std::thread::id housekeeping_id;      // once it runs
  std::function<void()> wanted_thread;  // that it is to make
  std::thread made_thread;
  std::exception_ptr made_none;

  Registry registry;  // last: its end may still make a thread

  State(std::shared_ptr<MachineParts> machine_parts, const MonitorOptions& monitor_options, Log& log);
  ~State();

  // A scrape is asked for by threads that may have given up rights which collectors need, and a thread inherits from
  // the one that makes it. So all that collectors run on are made by this monitor's own thread or by the one that made
  // that.
  std::thread make_thread(std::function<void()> body);

  // After a run, which may have read what must be read, a part of it, or nothing.
  void plan_accumulating();

  // The same for one that has just ended. If no caller waited for its end, something is read once more than necessary.
  void plan_after(const std::shared_ptr<ScrapeRun>& run);

  // RC6 and hwmon energy wrap unnoticed when they are not read for long, and a job that ends before the next scrape
  // must be scanned: nothing else runs between scrapes.
  void run_housekeeping();
  SteadyClock::time_point next_reading() const;
  void read_between_scrapes(std::unique_lock<std::mutex>& lock);

  // Whether a collector that counts what ended is on: it is read between scrapes.
  bool counts_short_jobs() const;

  // A run with these collectors: the present one or the next. Null: the limit was reached before it began. A run that
  // takes longer than a collector may is shared no more: what it read first is old. One that began after the call is as
  // good when it has ended before this thread woke up.
  std::shared_ptr<ScrapeRun> run_with(const CollectorSet& collectors, const WaitLimit& limit,
                                      std::unique_lock<std::mutex>& lock);

  // A caller that waits for a run with these collectors.
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

  // With all that those who wait now want.
  std::shared_ptr<ScrapeRun> start_run(std::unique_lock<std::mutex>& lock);
};

}  // namespace igpu
