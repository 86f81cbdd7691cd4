// SPDX-License-Identifier: Apache-2.0
#include "igpu/monitor.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "collector/collector.h"
#include "monitor/machine_parts.h"
#include "registry/configuration.h"
#include "registry/registry.h"
#include "registry/registry_metrics.h"
#include "simulation/simulation.h"

// The one place where machine, devices, collectors and registry are put together.
namespace igpu {
namespace {

class SystemParts final : public MachineParts {
 public:
  explicit SystemParts(const MonitorOptions& options)
      : sys_(open_tree(options.sysfs_root, "sysfs")),
        proc_(open_tree(options.procfs_root, "procfs")),
        dev_(open_tree(options.devfs_root, "devfs")),
        perf_(system_perf_events()),
        drm_(system_drm_nodes(options.devfs_root)),
        clock_(system_clock()),
        privileges_(system_privileges()),
        names_(system_names()),
        machine_{*sys_, *proc_, *dev_, *perf_, *drm_, *clock_, *privileges_, *names_} {}
  Machine& machine() override { return machine_; }

 private:
  static std::unique_ptr<Directory> open_tree(const std::string& root, const std::string& flag) {
    try {
      return open_root(root);
    } catch (const std::system_error& error) {
      throw OptionError("path." + flag, root + ": " + error.code().message());
    }
  }

  std::unique_ptr<Directory> sys_, proc_, dev_;
  std::unique_ptr<PerfEvents> perf_;
  std::unique_ptr<DrmNodes> drm_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Privileges> privileges_;
  std::unique_ptr<Names> names_;
  Machine machine_;
};

class SimulatedParts final : public MachineParts {
 public:
  explicit SimulatedParts(const std::string& profile) : clock_(system_clock()) {
    simulated_ = SimulatedMachine::create(profile, *clock_);
    if (!simulated_) {
      std::string message = "no profile '" + profile + "'; there are:";
      for (const SimulationProfile& known : simulation_profiles()) message += " " + std::string(known.name);
      throw OptionError("simulate", message);
    }
    machine_ = std::make_unique<Machine>(simulated_->machine());
  }
  Machine& machine() override { return *machine_; }

 private:
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<SimulatedMachine> simulated_;
  std::unique_ptr<Machine> machine_;
};

}  // namespace

struct Monitor::State {
  using SteadyClock = std::chrono::steady_clock;

  std::shared_ptr<MachineParts> parts;
  MonitorOptions options;

  // One run at a time; see Monitor::scrape.
  std::mutex mutex;
  std::condition_variable_any changed;
  std::condition_variable housekeeping_wanted;  // apart: a scrape that ends shall not wake that thread
  bool running = false;                         // a run that nobody can share yet, or ever
  std::shared_ptr<ScrapeRun> shared_run;        // the last one that could be shared; it may have ended
  bool shared_run_planned = false;              // plan_accumulating() knows of it
  std::uint64_t runs_started = 0;               // that were shared
  std::list<CollectorSet> wanted;               // by those who wait for a run

  SteadyClock::time_point accumulating_due;  // when counters that advance only when read must be read at the latest
  SteadyClock::time_point house_waits_until;
  SteadyClock::time_point first_scrape_at;
  bool stopping = false;
  std::thread housekeeping;
  bool keeps_house = false;             // that thread exists
  std::thread::id housekeeper;          // once it runs
  std::function<void()> wanted_thread;  // that it is to make
  std::thread made_thread;
  std::exception_ptr made_none;

  Registry registry;  // last: its end may still make a thread

  State(std::shared_ptr<MachineParts> machine_parts, const MonitorOptions& monitor_options, Log& log)
      : parts(std::move(machine_parts)),
        options(monitor_options),
        registry(
            parts, parts->machine(),
            {options.gpus, options.min_window, options.collector_timeout,
             [this](std::function<void()> body) { return make_thread(std::move(body)); }, options.accumulator_interval},
            configure(all_collectors(), options), log) {
    // The first state of every counter: windows of the first scrape reach back to here.
    (void)registry.run({});
    plan_accumulating();
    first_scrape_at = SteadyClock::now() + std::min<Nanoseconds>(options.min_window, std::chrono::seconds(1));
    keeps_house = true;
    housekeeping = std::thread([this] { keep_house(); });
  }

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    housekeeping_wanted.notify_all();
    housekeeping.join();
  }

  // A scrape is asked for by threads that may have given up rights which collectors need, and a thread inherits from
  // the one that makes it. So all that collectors run on are made by this monitor's own thread or by the one that made
  // that.
  std::thread make_thread(std::function<void()> body) {
    std::unique_lock lock(mutex);
    if (!keeps_house || stopping || std::this_thread::get_id() == housekeeper) {
      lock.unlock();
      return std::thread(std::move(body));
    }
    wanted_thread = std::move(body);  // one scrape runs at a time: no other wish is open
    housekeeping_wanted.notify_all();
    changed.wait(lock, [&] { return made_thread.joinable() || made_none; });
    if (made_none) std::rethrow_exception(std::exchange(made_none, nullptr));
    return std::move(made_thread);
  }

  // After a run, which may have read what must be read, a part of it, or nothing.
  void plan_accumulating() {
    accumulating_due = SteadyClock::now() + registry.accumulating_due_after();
    if (accumulating_due < house_waits_until) housekeeping_wanted.notify_all();  // a GPU came that cannot wait as long
  }

  // The same for one that has just ended. If nobody waited for its end, something is read once more than it need be.
  void plan_after(const std::shared_ptr<ScrapeRun>& run) {
    const std::lock_guard lock(mutex);
    if (run == shared_run && !std::exchange(shared_run_planned, true)) plan_accumulating();
  }

  // RC6 and hwmon energy wrap unseen when nobody reads them for long: the one thing that runs between scrapes.
  void keep_house() {
    ::pthread_setname_np(::pthread_self(), "housekeeping");
    std::unique_lock lock(mutex);
    housekeeper = std::this_thread::get_id();
    while (!stopping || wanted_thread) {
      if (wanted_thread) {
        try {
          made_thread = std::thread(std::exchange(wanted_thread, nullptr));
        } catch (...) {
          made_none = std::current_exception();
        }
        changed.notify_all();
        continue;
      }
      if (SteadyClock::now() < accumulating_due || running || (shared_run && !shared_run->ended())) {
        house_waits_until = std::max(accumulating_due, SteadyClock::now() + std::chrono::milliseconds(10));
        housekeeping_wanted.wait_until(lock, house_waits_until);
        continue;
      }
      running = true;
      shared_run.reset();
      lock.unlock();
      (void)registry.run({.only_accumulating = true});
      lock.lock();
      plan_accumulating();
      running = false;
      changed.notify_all();
    }
  }

  // A run with these collectors: the present one or the next. Null: the limit was reached before it began. A run that
  // takes longer than a collector may is shared no more: what it read first is old. One that began after the call is as
  // good when it has ended before this thread woke up.
  std::shared_ptr<ScrapeRun> run_with(const CollectorSet& collectors, const WaitLimit& limit,
                                      std::unique_lock<std::mutex>& lock) {
    const std::uint64_t arrived = runs_started;
    for (;;) {
      const bool under_way = shared_run && !shared_run->ended();
      if (shared_run && runs_started > arrived && shared_run->includes(collectors)) return shared_run;
      if (under_way && shared_run->includes(collectors) && shared_run->age() < options.collector_timeout)
        return shared_run;
      if (limit.over()) return nullptr;
      if (running) {
        changed.wait_until(lock, limit.gone, limit.until, [this] { return !running; });
      } else if (under_way) {
        const std::shared_ptr<ScrapeRun> run = shared_run;
        lock.unlock();
        (void)run->wait(limit);
        lock.lock();
      } else {
        return start_run(lock);
      }
    }
  }

  // Somebody who waits for a run with these collectors.
  class Wish {
   public:
    Wish(State& state, std::unique_lock<std::mutex>& lock, const CollectorSet& collectors)
        : state_(state), lock_(lock), place_(state.wanted.insert(state.wanted.end(), collectors)) {}
    ~Wish() {
      if (!lock_.owns_lock()) lock_.lock();
      state_.wanted.erase(place_);
    }
    Wish(const Wish&) = delete;
    Wish& operator=(const Wish&) = delete;

   private:
    State& state_;
    std::unique_lock<std::mutex>& lock_;
    std::list<CollectorSet>::iterator place_;
  };

  // With all that those who wait now want.
  std::shared_ptr<ScrapeRun> start_run(std::unique_lock<std::mutex>& lock) {
    CollectorSet together = wanted.front();
    for (const CollectorSet& one : wanted) together.add(one);
    running = true;
    shared_run.reset();
    lock.unlock();
    std::shared_ptr<ScrapeRun> run;
    const auto started = [&] {
      lock.lock();
      running = false;
      shared_run = run;
      shared_run_planned = false;
      ++runs_started;
      changed.notify_all();
    };
    try {
      run = registry.start(together);
    } catch (...) {
      started();
      throw;
    }
    started();
    return run;
  }
};

Monitor::Monitor(std::unique_ptr<State> state) : state_(std::move(state)) {}

Monitor::Monitor(const MonitorOptions& options, Log& log) {
  std::shared_ptr<MachineParts> parts;
  if (options.simulate.empty()) {
    parts = std::make_shared<SystemParts>(options);
  } else {
    parts = std::make_shared<SimulatedParts>(options.simulate);
  }
  state_ = std::make_unique<State>(std::move(parts), options, log);
}

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
  std::unique_lock lock(s.mutex);
  const CollectorSet& collectors = request.collectors;
  std::shared_ptr<ScrapeRun> run;
  {
    const State::Wish wish(s, lock, collectors);
    while (State::SteadyClock::now() < s.first_scrape_at && !s.stopping) {
      if (limit.over()) return nullptr;
      s.changed.wait_until(lock, limit.gone, std::min(limit.until, s.first_scrape_at), [&] { return s.stopping; });
    }
    run = s.run_with(collectors, limit, lock);
  }
  lock.unlock();
  if (!run) return nullptr;
  std::shared_ptr<const ScrapeResult> page = run->result(collectors, limit);
  if (run->ended()) s.plan_after(run);
  return page;
}

std::vector<Gpu> Monitor::gpus() {
  (void)scrape({.collectors = CollectorSet::none()});
  return state_->registry.gpus();
}

std::vector<std::string> Monitor::enabled_collectors() const {
  std::vector<std::string> names;
  for (const CollectorDescription& collector : describe_collectors(state_->options))
    if (!collector.always_on) names.emplace_back(collector.name);
  return names;
}

bool Monitor::simulated() const { return !state_->options.simulate.empty(); }

namespace {

CollectorDescription describe(const CollectorInfo& info) {
  return {info.name,    info.help,  info.enabled_by_default, info.always_on, info.metrics, info.features,
          info.options, info.notes, info.reads_processes};
}

}  // namespace

std::vector<CollectorDescription> describe_collectors() {
  std::vector<CollectorDescription> descriptions;
  for (const CollectorEntry& entry : all_collectors()) descriptions.push_back(describe(*entry.info));
  return descriptions;
}

std::vector<CollectorDescription> describe_collectors(const MonitorOptions& options) {
  std::vector<CollectorDescription> descriptions;
  for (const CollectorEntry& entry : all_collectors())
    if (is_enabled(*entry.info, options)) descriptions.push_back(describe(*entry.info));
  return descriptions;
}

std::span<const MetricDescriptor* const> registry_metrics() { return kRegistryMetrics; }

}  // namespace igpu
