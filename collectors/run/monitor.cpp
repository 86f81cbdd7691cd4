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

}  // namespace igpu
