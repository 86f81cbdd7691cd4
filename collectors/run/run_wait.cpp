// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stop_token>
#include <utility>

#include "run/run.h"

namespace igpu {
namespace {

// The shared page with the samples of one client added.
class ClientPage final : public ScrapeResult {
 public:
  ClientPage(std::shared_ptr<const ScrapeResult> shared, std::shared_ptr<SampleSink> own)
      : shared_(std::move(shared)), own_(std::move(own)), lists_(shared_->lists().begin(), shared_->lists().end()) {
    lists_.push_back(&own_->samples());
  }
  std::span<const SampleList* const> lists() const override { return lists_; }
  std::span<const Finding> findings() const override { return shared_->findings(); }
  std::span<const std::string_view> failed_collectors() const override { return shared_->failed_collectors(); }
  std::span<const CollectorFailure> failures() const override { return shared_->failures(); }

 private:
  const std::shared_ptr<const ScrapeResult> shared_;
  const std::shared_ptr<SampleSink> own_;
  std::vector<const SampleList*> lists_;
};

}  // namespace

void RegistryRun::cut_short() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = current_ + 1; i < progress_.steps.size(); ++i)
    if (progress_.steps[i].outcome == Outcome::pending) progress_.steps[i].outcome = Outcome::late;
}

// Wakes the waiting threads when a caller's `gone` is stopped. Construct it before the lock is taken: its destructor
// waits for the callback, which takes the lock. A condition_variable_any can wait for the token itself, but it notifies
// while it holds a mutex of its own, for which the woken thread then has to wait.
class RegistryRun::WakeWhenGone {
 public:
  WakeWhenGone(RegistryRun& run, const std::stop_token& gone) : callback_(gone, Wake{run}) {}

 private:
  struct Wake {
    RegistryRun& run;
    void operator()() const noexcept {
      { const std::lock_guard lock(run.mutex_); }  // a thread between its check and its wait must not miss this
      run.changed_.notify_all();
    }
  };
  std::stop_callback<Wake> callback_;
};

// Waits until `done`, and replaces workers that hang meanwhile; false: the limit was reached first. Requires a
// WakeWhenGone.
template <class Done>
bool RegistryRun::wait(std::unique_lock<std::mutex>& lock, const WaitLimit& limit, Done done) {
  while (!done()) {
    if (limit.over()) return false;
    const bool watched_by_other = replacing_ || ending_;
    const auto hangs_at = current_since_ + core_->options.collector_timeout;
    if (!watched_by_other && SteadyClock::now() >= hangs_at) {
      leave_worker_behind(lock);
      continue;
    }
    changed_.wait_until(lock, watched_by_other ? limit.until : std::min(limit.until, hangs_at), [&] {
      return done() || limit.gone.stop_requested() || watched_by_other != (replacing_ || ending_);
    });
  }
  return true;
}

bool RegistryRun::wait(const WaitLimit& limit) {
  const WakeWhenGone wake(*this, limit.gone);
  std::unique_lock lock(mutex_);
  return wait(lock, limit, [this] { return finished_; });
}

void RegistryRun::leave_worker_behind(std::unique_lock<std::mutex>& lock) {
  const auto now = SteadyClock::now();
  std::vector<Step>& steps = progress_.steps;
  if (current_ < steps.size() && steps[current_].outcome == Outcome::pending) {
    steps[current_].outcome = Outcome::left_behind;
    steps[current_].duration = now - current_since_;
  }
  const bool hopeless = !prepared_;  // even listing the GPUs hangs
  current_since_ = now;
  const int epoch = ++epoch_;
  replacing_ = true;
  lock.unlock();
  bool replaced = false;
  try {
    replace_(hopeless ? -1 : epoch);
    replaced = !hopeless;
  } catch (const std::exception& error) {
    core_->log.write(LogLevel::error, "cannot start a thread for collectors",
                     {{"error", error.what()}, {"hint", "raise the limit of threads (TasksMax=)"}});
  }
  lock.lock();
  replacing_ = false;
  if (!replaced) {
    for (Step& step : steps)
      if (step.outcome == Outcome::pending) step.outcome = Outcome::late;
    finish(lock);
    lock.lock();
  }
  changed_.notify_all();
}

// Called by the thread that finished the last step. Makes the page without the lock, because hints read the machine.
// Returns with the lock released.
void RegistryRun::finish(std::unique_lock<std::mutex>& lock) {
  ending_ = true;
  const Progress& all = progress_;  // does not change any more
  lock.unlock();
  std::shared_ptr<const ScrapeResult> result;
  std::exception_ptr error;
  try {
    core_->plan_readings(all);
    result = page(all, collectors_, true);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  result_ = std::move(result);
  no_result_ = error;
  finished_ = true;
  // Unlocked first: the thread that wakes up needs the lock at once.
  lock.unlock();
  changed_.notify_all();
}

bool RegistryRun::has_finished(const CollectorSet& collectors) const {
  return finished_ || (prepared_ && std::ranges::all_of(progress_.steps, [&](const Step& step) {
                         return step.outcome != Outcome::pending ||
                                !(step.slot->info->always_on || collectors.has(step.slot->info->name));
                       }));
}

Progress RegistryRun::progress() const {
  Progress copy = progress_;
  if (!finished_ && !ending_ && current_ < copy.steps.size() && copy.steps[current_].outcome == Outcome::pending)
    copy.steps[current_].duration = SteadyClock::now() - current_since_;
  return copy;
}

std::shared_ptr<const ScrapeResult> RegistryRun::result(const CollectorSet& collectors, const WaitLimit& limit,
                                                        std::string_view client) {
  std::shared_ptr<const ScrapeResult> page = shared_result(collectors, limit);
  std::shared_ptr<ClientSamples> by_client;
  {
    const std::lock_guard lock(mutex_);
    if (progress_.by_client_of && collectors.has(progress_.by_client_of->name)) by_client = progress_.by_client;
  }
  if (!page || !by_client) return page;
  // The window of a client that has left is not ended: it may ask again.
  if (limit.gone.stop_requested()) return nullptr;
  std::shared_ptr<SampleSink> own = core_->sinks->empty_sink();
  by_client->write(client, *own);
  return std::make_shared<ClientPage>(std::move(page), std::move(own));
}

std::shared_ptr<const ScrapeResult> RegistryRun::shared_result(const CollectorSet& collectors, const WaitLimit& limit) {
  Progress so_far;
  {
    const WakeWhenGone wake(*this, limit.gone);
    std::unique_lock lock(mutex_);
    if (collectors.includes(collectors_)) {
      wait(lock, limit, [this] { return finished_; });
    } else {
      ++waiting_for_some_;
      wait(lock, limit, [&] { return has_finished(collectors); });
      --waiting_for_some_;
    }
    if (limit.gone.stop_requested()) return nullptr;
    if (finished_ && collectors.includes(collectors_)) {
      if (no_result_) std::rethrow_exception(no_result_);
      return result_;
    }
    so_far = progress();
  }
  return page(so_far, collectors, false);
}

}  // namespace igpu
