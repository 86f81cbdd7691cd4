// SPDX-License-Identifier: Apache-2.0
#include "igpu/monitor.h"

#include <algorithm>
#include <utility>

#include "igpu/flight.h"
#include "run/machine_parts.h"
#include "run/run.h"
#include "run/state.h"

namespace igpu {

Monitor::Monitor(std::unique_ptr<State> state) : state_(std::move(state)) {}

Monitor::Monitor(const MonitorOptions& options, Log& log, std::shared_ptr<EarlyAccess> early)
    : state_(std::make_unique<State>(make_machine_parts(options, std::move(early)), options, log)) {}

Monitor::~Monitor() = default;

std::unique_ptr<Monitor> make_monitor(std::shared_ptr<MachineParts> parts, const MonitorOptions& options, Log& log) {
  return std::unique_ptr<Monitor>(new Monitor(std::make_unique<Monitor::State>(std::move(parts), options, log)));
}

std::size_t waiting_for_run(const Monitor& monitor) {
  const std::lock_guard lock(monitor.state_->mutex);
  return monitor.state_->wanted.size();
}

std::shared_ptr<const ScrapeResult> Monitor::scrape(const ScrapeRequest& request) {
  State& s = *state_;
  const WaitLimit limit = WaitLimit::within(request.deadline, request.gone);
  const auto since = std::min(request.since, State::SteadyClock::now());
  std::unique_lock lock(s.mutex);
  const CollectorSet& collectors = request.collectors;
  std::shared_ptr<RegistryRun> run;
  {
    const State::RunRequest waiting(s, lock, collectors);
    while (State::SteadyClock::now() < s.first_scrape_at && !s.stopping) {
      if (limit.over()) return nullptr;
      s.changed.wait_until(lock, limit.gone, std::min(limit.until, s.first_scrape_at), [&] { return s.stopping; });
    }
    run = s.run_with(collectors, since, limit, lock);
  }
  lock.unlock();
  if (!run) return nullptr;
  std::shared_ptr<const ScrapeResult> page = run->result(collectors, limit, request.client);
  if (run->ended()) s.plan_after(run);
  if (s.options.flights && page && !page->failed_collectors().empty())
    s.options.flights->request(
        {.cause = FlightCause::scrape_failed, .device = {}, .detail = std::string(page->failed_collectors().front())});
  return page;
}

std::vector<Gpu> Monitor::gpus() {
  (void)scrape({.collectors = CollectorSet::none()});
  return *state_->registry.gpus();
}

std::vector<std::string> Monitor::enabled_collectors() const {
  std::vector<std::string> names;
  for (const CollectorDescription& collector : describe_collectors(state_->options))
    if (!collector.always_on) names.emplace_back(collector.name);
  return names;
}

bool Monitor::simulated() const { return !state_->options.simulate.empty(); }

Monitor::State::State(std::shared_ptr<MachineParts> machine_parts, const MonitorOptions& monitor_options, Log& log)
    : parts(std::move(machine_parts)),
      options(monitor_options),
      registry(parts, parts->machine(),
               {options.gpus, options.min_window, options.collector_timeout,
                [this](std::function<void()> body) { return make_thread(std::move(body)); },
                options.accumulator_interval, options.workload_rules, options.flights},
               configure(all_collectors(), options), log) {
  // Reads the first state of every counter; the windows of the first scrape begin here.
  (void)registry.run({});
  plan_accumulating();
  first_scrape_at = SteadyClock::now() + std::min<Nanoseconds>(options.min_window, std::chrono::seconds(1));
  const auto& users = parts->machine().drm_users;
  if (ChangeSignal* const changes = users && counts_short_jobs() ? (*users)->change_signal() : nullptr) {
    client_reports = std::make_unique<ChangeListener>(*changes, [this] {
      const std::lock_guard lock(mutex);
      burst.reported(SteadyClock::now().time_since_epoch());
      housekeeping_wanted.notify_all();
    });
  }
  has_housekeeping = true;
  housekeeping = std::thread([this] { run_housekeeping(); });
}

Monitor::State::~State() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  housekeeping_wanted.notify_all();
  client_reports.reset();
  housekeeping.join();
}

std::thread Monitor::State::make_thread(std::function<void()> body) {
  std::unique_lock lock(mutex);
  if (!has_housekeeping || stopping || std::this_thread::get_id() == housekeeping_id) {
    lock.unlock();
    return std::thread(std::move(body));
  }
  wanted_thread = std::move(body);  // only one scrape runs at a time, so no other request is open
  housekeeping_wanted.notify_all();
  changed.wait(lock, [&] { return made_thread.joinable() || thread_error; });
  if (thread_error) std::rethrow_exception(std::exchange(thread_error, nullptr));
  return std::move(made_thread);
}

void Monitor::State::plan_accumulating() {
  accumulating_due = SteadyClock::now() + registry.accumulating_due_after();
  if (accumulating_due < housekeeping_due) housekeeping_wanted.notify_all();  // a new GPU must be read earlier
}

void Monitor::State::plan_after(const std::shared_ptr<RegistryRun>& run) {
  const std::lock_guard lock(mutex);
  if (run == shared_run && !std::exchange(shared_run_planned, true)) plan_accumulating();
}

void Monitor::State::run_housekeeping() {
  name_this_thread("housekeeping");
  std::unique_lock lock(mutex);
  housekeeping_id = std::this_thread::get_id();
  while (!stopping || wanted_thread) {
    if (wanted_thread) {
      try {
        made_thread = std::thread(std::exchange(wanted_thread, nullptr));
      } catch (...) {
        thread_error = std::current_exception();
      }
      changed.notify_all();
      continue;
    }
    if (SteadyClock::now() < next_reading() || running || (shared_run && !shared_run->ended())) {
      housekeeping_due = std::max(next_reading(), SteadyClock::now() + std::chrono::milliseconds(10));
      housekeeping_wanted.wait_until(lock, housekeeping_due);
      continue;
    }
    read_between_scrapes(lock);
  }
}

Monitor::State::SteadyClock::time_point Monitor::State::next_reading() const {
  const auto scan = burst.due();
  return scan ? std::min(accumulating_due, SteadyClock::time_point(*scan)) : accumulating_due;
}

void Monitor::State::read_between_scrapes(std::unique_lock<std::mutex>& lock) {
  const auto begin = SteadyClock::now();
  const auto scan = burst.due();
  const bool reads_clients = scan && begin >= SteadyClock::time_point(*scan);
  running = true;
  shared_run.reset();
  const Nanoseconds used = processor_time();
  lock.unlock();
  (void)registry.run({.only_accumulating = true, .reads_clients = reads_clients});
  lock.lock();
  plan_accumulating();
  const auto end = SteadyClock::now();
  // Other threads and programs used the processors meanwhile: neither figure alone is the cost.
  const Nanoseconds cost = std::min<Nanoseconds>(processor_time() - used, end - begin);
  if (reads_clients) burst.scanned(end.time_since_epoch(), cost);
  running = false;
  changed.notify_all();
}

bool Monitor::State::counts_short_jobs() const {
  const auto collectors = all_collectors();
  return std::ranges::any_of(collectors, [this](const CollectorEntry& collector) {
    return is_read_between_scrapes(*collector.info) && is_enabled(*collector.info, options);
  });
}

std::shared_ptr<RegistryRun> Monitor::State::run_with(const CollectorSet& collectors, SteadyClock::time_point since,
                                                      const WaitLimit& limit, std::unique_lock<std::mutex>& lock) {
  for (;;) {
    const bool under_way = shared_run && !shared_run->ended();
    if (shared_run && shared_run->includes(collectors)) {
      const bool is_young = SteadyClock::now() - shared_run->began() < options.collector_timeout;
      if (shared_run->began() >= since || (under_way && is_young)) return shared_run;
    }
    if (limit.over()) return nullptr;
    if (running) {
      changed.wait_until(lock, limit.gone, limit.until, [this] { return !running; });
    } else if (under_way) {
      const std::shared_ptr<RegistryRun> run = shared_run;
      lock.unlock();
      (void)run->wait(limit);
      lock.lock();
    } else {
      return start_run(lock);
    }
  }
}

std::shared_ptr<RegistryRun> Monitor::State::start_run(std::unique_lock<std::mutex>& lock) {
  CollectorSet together = wanted.front();
  for (const CollectorSet& one : wanted) together.add(one);
  running = true;
  shared_run.reset();
  lock.unlock();
  std::shared_ptr<RegistryRun> run;
  const auto started = [&] {
    lock.lock();
    running = false;
    shared_run = run;
    shared_run_planned = false;
    changed.notify_all();
  };
  try {
    if (together != CollectorSet::none()) parts->scrape_begins();
    run = registry.start({.collectors = together});
  } catch (...) {
    started();
    throw;
  }
  started();
  return run;
}

}  // namespace igpu
