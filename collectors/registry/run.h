// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "registry/core.h"
#include "registry/progress.h"
#include "registry/scrape_run.h"

namespace igpu {

// Executed by a worker thread; the threads that want its result wait for it and monitor it.
class Registry::Run final : public ScrapeRun, public std::enable_shared_from_this<Registry::Run> {
 public:
  // For a worker that does not return: leaves it behind and, unless the epoch is negative, has another one execute().
  using Replace = std::function<void(int epoch)>;

  Run(std::shared_ptr<Core> core, const Request& request, Replace replace)
      : core_(std::move(core)),
        collectors_(request.collectors),
        only_accumulating_(request.only_accumulating),
        reads_clients_(request.reads_clients),
        replace_(std::move(replace)),
        number_(++core_->pass_number) {}

  bool ended() const override {
    const std::lock_guard lock(mutex_);
    return finished_;
  }
  bool includes(const CollectorSet& collectors) const override {
    return !only_accumulating_ && collectors_.includes(collectors);
  }
  Nanoseconds age() const override { return SteadyClock::now() - started_; }
  bool wait(const WaitLimit& limit) override;
  std::shared_ptr<const ScrapeResult> result(const CollectorSet& collectors, const WaitLimit& limit) override;

  // On a worker. Ends early when the run was handed to another worker meanwhile.
  void execute(int epoch);
  // What has not begun is left out.
  void cut_short();

 private:
  class Pass;
  class WholePass;
  struct Account;
  // For waiting on threads; what collectors measure uses Machine::clock.
  using SteadyClock = std::chrono::steady_clock;

  // The run: run.cpp
  void prepare();
  bool wanted(const Slot& slot) const;
  Outcome collect(Step& step);
  Outcome collect_gpu(Step& step);
  Outcome collect_machine(Step& step);
  Reading<const ClientSnapshot*> clients();

  // Waiting for it, and watching over its thread: run_wait.cpp
  class WakeWhenGone;
  template <class Done>
  bool wait(std::unique_lock<std::mutex>& lock, const WaitLimit& limit, Done done);
  bool settled(const CollectorSet& collectors) const;
  void isolate(std::unique_lock<std::mutex>& lock);
  void end(std::unique_lock<std::mutex>& lock);

  // What it has found: run_page.cpp
  Progress progress() const;
  std::shared_ptr<const ScrapeResult> page(const Progress& progress, const CollectorSet& collectors, bool whole);
  KeptFindings::List report(const Progress& progress, const CollectorSet& collectors, bool whole, SampleSink& out,
                            std::vector<std::string_view>& failed);
  KeptFindings::List explain(std::vector<NotedFeature>&& noted, const Progress& progress) const;
  bool wanted(const ConfiguredCollector& collector, const Progress& progress) const;
  std::size_t device_count(const Progress& progress) const;
  void add_collector(const ConfiguredCollector& collector, const Progress& progress, Account& account,
                     SampleSink& out) const;
  static void add_step(const Step& step, Account& account);
  static void note_failures(const Step& step, Account& account);
  static void note_features(const Step& step, std::vector<NotedFeature>& findings);
  void plan_readings(const Progress& progress);

  const std::shared_ptr<Core> core_;
  const CollectorSet collectors_;
  const bool only_accumulating_;
  const bool reads_clients_;
  const Replace replace_;
  const std::uint64_t number_;
  const SteadyClock::time_point started_ = SteadyClock::now();

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  int epoch_ = 0;
  bool prepared_ = false;
  bool replacing_ = false;
  bool ending_ = false;
  bool finished_ = false;
  unsigned waiting_for_some_ = 0;  // threads that do not need all of it
  std::size_t current_ = 0;
  SteadyClock::time_point current_since_ = started_;
  Progress progress_;
  std::shared_ptr<const ScrapeResult> result_;
  std::exception_ptr no_result_;

  std::mutex clients_mutex_;
  std::optional<Reading<ClientSnapshot>> clients_;
  std::vector<std::string> asleep_;
  EngineSecondsByDevice engines_measured_;  // guarded by mutex_
  JobCountersByDevice jobs_counted_;        // likewise
};

}  // namespace igpu
