// SPDX-License-Identifier: Apache-2.0
#include "registry/registry.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "device/discovery.h"
#include "registry/kept_findings.h"
#include "registry/reading_schedule.h"
#include "registry/registry_metrics.h"
#include "registry/scrape_log.h"
#include "registry/sink_pool.h"
#include "registry/sleep_guard.h"
#include "source/client_walk.h"
#include "source/runtime_pm.h"

namespace igpu {
namespace {

using SteadyClock = std::chrono::steady_clock;  // for waiting on threads; what collectors measure uses Machine::clock

// A collector of one GPU.
struct Slot {
  const ConfiguredCollector* configured = nullptr;
  const CollectorInfo* info = nullptr;
  std::shared_ptr<CounterMemory> memory;
  std::unique_ptr<Collector> collector;  // nullptr: it could not be made so far
  std::atomic<bool> busy{false};         // on some thread, perhaps for longer than anybody waits
  std::atomic<Nanoseconds> read_within{Nanoseconds::max()};
  std::optional<ReadingSchedule> reading;  // of one that accumulates on read; used by the thread that owns the run
};

struct GpuUnit {
  Gpu gpu;
  std::shared_ptr<CounterMemory> pmu_memory;
  std::unique_ptr<RuntimePm> runtime_pm;
  SleepGuard sleep_guard;
  std::unique_ptr<PmuSession> pmu;
  std::list<Slot> slots;

  struct PowerReading {
    GpuPower power = GpuPower::awake;
    Reading<bool> suspended = Absent{};
  };
  PowerReading read_power(Nanoseconds now) {
    SleepGuard::Observation seen{runtime_pm->suspended(), Absent{}, {}};
    if (!seen.suspended.value_or(true)) seen.users = runtime_pm->users();
    if (seen.users && *seen.users == 0) seen.autosuspend_delay = runtime_pm->autosuspend_delay();
    const GpuPower power = sleep_guard.judge(seen, now);
    return {power, std::move(seen.suspended)};
  }

  bool busy() const {
    return std::any_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.busy.load(); });
  }
};

// Counters of a PCI address; outlive the units, so that a GPU that is bound again goes on counting.
struct DeviceMemory {
  std::shared_ptr<CounterMemory> pmu = std::make_shared<CounterMemory>();
  std::map<std::string_view, std::shared_ptr<CounterMemory>> collectors;
};

enum class Outcome { pending, collected, suspended, left_behind, late };

struct Step {
  std::shared_ptr<GpuUnit> unit;
  Slot* slot;
  GpuUnit::PowerReading power;
  std::shared_ptr<SampleSink> sink;
  Outcome outcome = Outcome::pending;
  Nanoseconds duration{};
  bool walked = false;  // it asked for the clients
};

struct WalkFacts {
  Nanoseconds duration{};
  bool complete = false;
  std::size_t blocks_skipped = 0;
};

// A run as far as it has come.
struct Progress {
  bool listed = false;  // the GPUs are known
  std::vector<Step> steps;
  std::vector<std::shared_ptr<GpuUnit>> units;
  std::optional<Failure> discovery_failed;
  std::optional<WalkFacts> walk;
};

class Result final : public ScrapeResult {
 public:
  std::span<const SampleList* const> lists() const override { return lists_; }
  std::span<const Finding> findings() const override { return *findings_; }
  std::span<const std::string_view> failed_collectors() const override { return failed_; }

  std::vector<std::shared_ptr<SampleSink>> sinks;
  KeptFindings::List findings_;
  std::vector<std::string_view> failed_;  // names of the collectors' descriptors
  std::vector<const SampleList*> lists_;
};

}  // namespace

// What collectors and the threads they run on need; shared, because a thread that hangs may outlive the registry.
struct Registry::Core {
  std::shared_ptr<void> keep_alive;
  Machine& machine;
  RegistryOptions options;
  const std::vector<ConfiguredCollector> collectors;
  Log& log;
  std::shared_ptr<SinkPool> sinks = std::make_shared<SinkPool>();

  std::mutex walk_mutex;
  ClientWalk walk;

  // Used by the thread that owns the current run; discovery_mutex guards them against one that was left behind.
  std::mutex discovery_mutex;
  Discovery discovery;
  std::vector<std::shared_ptr<GpuUnit>> units;
  std::map<std::string, DeviceMemory> memories;

  mutable std::mutex known_mutex;
  std::vector<Gpu> known_gpus;  // as of the last run that found out

  KeptFindings findings;
  ScrapeLog scrape_log;
  std::uint64_t pass_number = 0;
  std::atomic<Nanoseconds> accumulating_due_after{};

  Core(std::shared_ptr<void> alive, Machine& the_machine, RegistryOptions registry_options,
       std::vector<ConfiguredCollector> configured, Log& the_log)
      : keep_alive(std::move(alive)),
        machine(the_machine),
        options(std::move(registry_options)),
        collectors(std::move(configured)),
        log(the_log),
        walk(the_machine, {}),
        discovery(the_machine, options.gpus),
        scrape_log(the_log) {}

  void follow_devices();
  std::shared_ptr<GpuUnit> bind(const Gpu& gpu, const GpuUnit* before);
  std::unique_ptr<Collector> make_collector(const Slot& slot, GpuUnit& unit) {
    return slot.configured->entry.create(
        {machine, unit.gpu, *unit.pmu, *slot.memory, slot.configured->options, options.min_window, log});
  }
};

// Makes units for GPUs that were bound since the last scrape and lets go of those that went, with all their files.
void Registry::Core::follow_devices() {
  const std::vector<Gpu>& gpus = discovery.discover();
  std::vector<std::shared_ptr<GpuUnit>> next;
  for (const Gpu& gpu : gpus) {
    const auto same_address =
        std::find_if(units.begin(), units.end(), [&](const auto& unit) { return unit->gpu.address == gpu.address; });
    const bool known = same_address != units.end();
    if (known && (*same_address)->gpu.binding == gpu.binding && (*same_address)->gpu.card == gpu.card &&
        (*same_address)->gpu.render_node == gpu.render_node) {
      next.push_back(*same_address);
      continue;
    }
    scrape_log.device_found(gpu);
    // The old unit's files are closed before the new ones are opened.
    const std::shared_ptr<GpuUnit> before = known ? *same_address : nullptr;
    if (known) units.erase(same_address);
    next.push_back(bind(gpu, before.get()));
  }
  for (const auto& unit : units) {
    if (std::none_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.address == unit->gpu.address; }))
      scrape_log.device_gone(unit->gpu);
  }
  units = std::move(next);
}

std::shared_ptr<GpuUnit> Registry::Core::bind(const Gpu& gpu, const GpuUnit* before) {
  auto unit = std::make_shared<GpuUnit>();
  unit->gpu = gpu;
  DeviceMemory& memory = memories[gpu.address];
  // A collector that still hangs on the old binding keeps its memory to itself.
  if (before && before->busy()) memory = DeviceMemory{};
  unit->pmu_memory = memory.pmu;
  unit->runtime_pm = std::make_unique<RuntimePm>(machine.sys, gpu.pci_path);
  unit->pmu = std::make_unique<PmuSession>(
      machine, *unit->pmu_memory,
      gpu_pmu_name(machine.sys, to_string(gpu.driver), gpu.address, stands_for_package(gpu)));
  for (const ConfiguredCollector& collector : collectors) {
    if (!collector.enabled) continue;
    auto& counters = memory.collectors[collector.entry.info->name];
    if (!counters) counters = std::make_shared<CounterMemory>();
    Slot& slot = unit->slots.emplace_back();
    slot.configured = &collector;
    slot.info = collector.entry.info;
    slot.memory = counters;
    if (slot.info->accumulates_on_read) slot.reading.emplace(machine.clock.now(), options.accumulator_interval);
    try {
      slot.collector = make_collector(slot, *unit);
    } catch (const std::exception&) {  // tried again when it is to collect, and told there
    }
  }
  return unit;
}

// Executed by a worker thread, waited for and watched over by the threads that want its result.
class Registry::Run final : public ScrapeRun, public std::enable_shared_from_this<Registry::Run> {
 public:
  // A worker that does not come back: leaves it behind and, unless the epoch is negative, has another one execute().
  using Replace = std::function<void(int epoch)>;

  Run(std::shared_ptr<Core> core, CollectorSet collectors, bool only_accumulating, Replace replace)
      : core_(std::move(core)),
        collectors_(std::move(collectors)),
        only_accumulating_(only_accumulating),
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
  bool wait(const WaitLimit& limit) override {
    std::unique_lock lock(mutex_);
    return wait(lock, limit, [this] { return finished_; });
  }
  std::shared_ptr<const ScrapeResult> result(const CollectorSet& collectors, const WaitLimit& limit) override;

  // On a worker. Ends early when the run was handed to another worker meanwhile.
  void execute(int epoch);
  // What has not begun is left out.
  void cut_short();

 private:
  class Pass;

  void prepare();
  bool wanted(const CollectorInfo& info) const;
  Outcome collect(Step& step);
  Reading<const ClientSnapshot*> clients();

  template <class Done>
  bool wait(std::unique_lock<std::mutex>& lock, const WaitLimit& limit, Done done);
  bool settled(const CollectorSet& collectors) const;
  void isolate(std::unique_lock<std::mutex>& lock);
  void end(std::unique_lock<std::mutex>& lock);

  Progress progress() const;
  std::shared_ptr<const ScrapeResult> page(const Progress& progress, const CollectorSet& collectors, bool whole);
  KeptFindings::List report(const Progress& progress, const CollectorSet& collectors, bool whole, SampleSink& out,
                            std::vector<std::string_view>& failed);
  void note_features(const Step& step, std::vector<Finding>& findings) const;
  void plan_readings(const Progress& progress);

  const std::shared_ptr<Core> core_;
  const CollectorSet collectors_;
  const bool only_accumulating_;
  const Replace replace_;
  const std::uint64_t number_;
  const SteadyClock::time_point started_ = SteadyClock::now();

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
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
};

class Registry::Run::Pass final : public ScrapePass {
 public:
  Pass(Run& run, Step& step) : run_(run), step_(step) {}
  std::uint64_t number() const override { return run_.number_; }
  Nanoseconds now() const override { return run_.core_->machine.clock.now(); }
  GpuPower power() const override { return step_.power.power; }
  Reading<bool> suspended() const override { return step_.power.suspended; }
  Reading<const ClientSnapshot*> clients() override {
    step_.walked = true;
    return run_.clients();
  }

 private:
  Run& run_;
  Step& step_;
};

bool Registry::Run::wanted(const CollectorInfo& info) const {
  if (only_accumulating_) return info.accumulates_on_read;
  return info.always_on || collectors_.has(info.name);
}

Reading<const ClientSnapshot*> Registry::Run::clients() {
  const Failure late{std::make_error_code(kWaitsForAnother), "proc: an earlier walk has not come back"};
  const std::unique_lock lock(clients_mutex_, std::try_to_lock);
  if (!lock) return late;
  if (!clients_) {
    const std::unique_lock walk_lock(core_->walk_mutex, std::try_to_lock);
    if (!walk_lock) return late;
    clients_.emplace(core_->walk.walk(asleep_));
    if (*clients_) {
      const ClientSnapshot& snapshot = **clients_;
      const std::lock_guard guard(mutex_);
      progress_.walk = WalkFacts{snapshot.duration, snapshot.complete, snapshot.blocks_skipped};
    }
  }
  if (!*clients_) return clients_->propagate<const ClientSnapshot*>();
  return &**clients_;
}

void Registry::Run::prepare() {
  Progress found;
  std::vector<std::string> asleep;
  const std::unique_lock lock(core_->discovery_mutex, std::try_to_lock);
  if (lock) {  // else a thread that was left behind still holds it
    core_->follow_devices();
    found.listed = true;
    found.units = core_->units;
    found.discovery_failed = core_->discovery.failure();
    const std::lock_guard guard(core_->known_mutex);
    core_->known_gpus.clear();
    for (const auto& unit : found.units) core_->known_gpus.push_back(unit->gpu);
  }
  std::vector<GpuUnit::PowerReading> power;
  for (const auto& unit : found.units) {
    power.push_back(unit->read_power(core_->machine.clock.now()));
    if (power.back().power != GpuPower::awake) asleep.push_back(unit->gpu.address);
  }
  // Topic by topic rather than GPU by GPU: families stay together on the page.
  for (const ConfiguredCollector& collector : core_->collectors) {
    if (!wanted(*collector.entry.info)) continue;
    for (std::size_t i = 0; i < found.units.size(); ++i)
      for (Slot& slot : found.units[i]->slots)
        if (slot.configured == &collector)
          found.steps.push_back({found.units[i], &slot, power[i], core_->sinks->take(), Outcome::pending, {}});
  }
  const std::lock_guard guard(mutex_);
  if (ending_ || finished_) return;  // nobody believed in it any more
  progress_ = std::move(found);
  asleep_ = std::move(asleep);
  prepared_ = true;
}

Outcome Registry::Run::collect(Step& step) {
  std::unique_ptr<Collector>& collector = step.slot->collector;
  if (step.power.power != GpuPower::awake && !step.slot->info->always_on) {
    if (collector) collector->gpu_is_suspended();
    return Outcome::suspended;
  }
  Pass pass(*this, step);
  try {
    if (!collector) collector = core_->make_collector(*step.slot, *step.unit);
    collector->collect(pass, *step.sink);
    step.slot->read_within = collector->read_within();
  } catch (const std::exception& error) {
    step.sink->clear();
    step.sink->failed(
        {std::make_error_code(std::errc::state_not_recoverable), std::string("exception: ") + error.what()});
  }
  return Outcome::collected;
}

void Registry::Run::execute(int epoch) {
  const bool first = [&] {
    const std::lock_guard lock(mutex_);
    return !prepared_;
  }();
  if (first) {
    try {
      prepare();
    } catch (const std::exception& error) {
      core_->log.write(LogLevel::error, "looking for GPUs failed",
                       {{"error", error.what()}, {"hint", "please report this"}});
    }
  }
  std::unique_lock lock(mutex_);
  std::vector<Step>& steps = progress_.steps;
  for (;;) {
    if (epoch != epoch_) return;
    while (current_ < steps.size() && steps[current_].outcome != Outcome::pending) ++current_;
    if (current_ == steps.size()) return end(lock);
    const std::size_t index = current_;
    Step step = steps[index];
    current_since_ = SteadyClock::now();
    lock.unlock();
    Outcome outcome = Outcome::left_behind;
    const Nanoseconds begin = core_->machine.clock.now();
    if (!step.slot->busy.exchange(true)) {
      outcome = collect(step);
      step.slot->busy = false;
    }
    const Nanoseconds duration = core_->machine.clock.now() - begin;
    lock.lock();
    if (epoch != epoch_) return;  // came back too late: the page went out without it
    steps[index].outcome = outcome;
    steps[index].duration = duration;
    steps[index].walked = step.walked;
    if (waiting_for_some_ > 0) changed_.notify_all();
  }
}

void Registry::Run::cut_short() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = current_ + 1; i < progress_.steps.size(); ++i)
    if (progress_.steps[i].outcome == Outcome::pending) progress_.steps[i].outcome = Outcome::late;
}

// Until `done`; false: the limit was reached before. Meanwhile workers that hang are replaced.
template <class Done>
bool Registry::Run::wait(std::unique_lock<std::mutex>& lock, const WaitLimit& limit, Done done) {
  while (!done()) {
    if (limit.over()) return false;
    const bool watched_by_other = replacing_ || ending_;
    const auto hangs_at = current_since_ + core_->options.collector_timeout;
    if (!watched_by_other && SteadyClock::now() >= hangs_at) {
      isolate(lock);
      continue;
    }
    changed_.wait_until(lock, limit.gone, watched_by_other ? limit.until : std::min(limit.until, hangs_at),
                        [&] { return done() || watched_by_other != (replacing_ || ending_); });
  }
  return true;
}

void Registry::Run::isolate(std::unique_lock<std::mutex>& lock) {
  const auto now = SteadyClock::now();
  std::vector<Step>& steps = progress_.steps;
  if (current_ < steps.size() && steps[current_].outcome == Outcome::pending) {
    steps[current_].outcome = Outcome::left_behind;
    steps[current_].duration = now - current_since_;
  }
  const bool hopeless = !prepared_;  // not even the list of GPUs came back
  current_since_ = now;
  const int epoch = ++epoch_;
  replacing_ = true;
  lock.unlock();
  bool replaced = false;
  try {
    replace_(hopeless ? -1 : epoch);
    replaced = !hopeless;
  } catch (const std::exception& error) {
    core_->log.write(LogLevel::error, "no thread for collectors",
                     {{"error", error.what()}, {"hint", "raise the limit of threads (TasksMax=)"}});
  }
  lock.lock();
  replacing_ = false;
  if (!replaced) {
    for (Step& step : steps)
      if (step.outcome == Outcome::pending) step.outcome = Outcome::late;
    end(lock);
  }
  changed_.notify_all();
}

// By the one thread that settled the last step. Readers of the machine (for hints) run without the lock.
void Registry::Run::end(std::unique_lock<std::mutex>& lock) {
  ending_ = true;
  const Progress all = progress();
  lock.unlock();
  std::shared_ptr<const ScrapeResult> result;
  std::exception_ptr error;
  try {
    plan_readings(all);
    result = page(all, collectors_, true);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  result_ = std::move(result);
  no_result_ = error;
  finished_ = true;
  changed_.notify_all();
}

bool Registry::Run::settled(const CollectorSet& collectors) const {
  return finished_ || (prepared_ && std::all_of(progress_.steps.begin(), progress_.steps.end(), [&](const Step& step) {
                         return step.outcome != Outcome::pending ||
                                !(step.slot->info->always_on || collectors.has(step.slot->info->name));
                       }));
}

std::shared_ptr<const ScrapeResult> Registry::Run::result(const CollectorSet& collectors, const WaitLimit& limit) {
  Progress so_far;
  {
    std::unique_lock lock(mutex_);
    if (collectors.includes(collectors_)) {
      wait(lock, limit, [this] { return finished_; });
    } else {
      ++waiting_for_some_;
      wait(lock, limit, [&] { return settled(collectors); });
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

// With the lock.
Progress Registry::Run::progress() const {
  Progress copy = progress_;
  if (!finished_ && !ending_ && current_ < copy.steps.size() && copy.steps[current_].outcome == Outcome::pending)
    copy.steps[current_].duration = SteadyClock::now() - current_since_;
  return copy;
}

std::shared_ptr<const ScrapeResult> Registry::Run::page(const Progress& progress, const CollectorSet& collectors,
                                                        bool whole) {
  auto result = std::make_shared<Result>();
  for (const Step& step : progress.steps) {
    const CollectorInfo& info = *step.slot->info;
    if (step.outcome == Outcome::collected && (whole || info.always_on || collectors.has(info.name)))
      result->sinks.push_back(step.sink);
  }
  auto own = core_->sinks->take();
  result->findings_ = report(progress, collectors, whole, *own, result->failed_);
  result->sinks.push_back(std::move(own));
  for (const auto& sink : result->sinks) result->lists_.push_back(&sink->samples());
  return result;
}

void Registry::Run::note_features(const Step& step, std::vector<Finding>& findings) const {
  const auto note = [&](const FeatureDescriptor& feature, bool available, Absent absent) {
    const std::string_view device =
        feature.machine_wide ? std::string_view() : std::string_view(step.unit->gpu.address);
    const auto known = std::find_if(findings.begin(), findings.end(),
                                    [&](const Finding& f) { return f.feature == &feature && f.device == device; });
    if (known == findings.end()) {
      findings.push_back({&feature, step.slot->info->name, std::string(device), available, absent, {}, {}});
    } else if (available && !known->available) {  // machine-wide: one GPU has it
      known->available = true;
      known->absent = {};
    }
  };
  if (step.outcome == Outcome::suspended) {
    for (const FeatureDescriptor* feature : step.slot->info->features)
      if (!feature->machine_wide) note(*feature, false, {Reason::suspended});
  } else {
    for (const auto& state : step.sink->features()) note(*state.feature, state.available, state.absent);
  }
}

KeptFindings::List Registry::Run::report(const Progress& progress, const CollectorSet& collectors, bool whole,
                                         SampleSink& out, std::vector<std::string_view>& failed) {
  std::vector<Finding> noted;
  constexpr std::size_t kFeaturesByGpu = 32;
  noted.reserve(kFeaturesByGpu * std::max<std::size_t>(progress.units.size(), 1));
  std::size_t devices = progress.units.size();
  if (!progress.listed) {  // so far, or at all: what was found last is the best that is known
    const std::lock_guard lock(core_->known_mutex);
    devices = core_->known_gpus.size();
  }
  out.add(kDevices, Count{static_cast<double>(devices)});
  std::set<ScrapeLog::Trouble> failures;
  std::vector<std::string_view> late;
  if (!progress.listed && whole)
    failures.insert({{}, {}, "looking for GPUs", "a read hangs; skipped until it returns"});
  if (progress.discovery_failed)
    failures.insert({{}, {}, progress.discovery_failed->where, progress.discovery_failed->code.message()});
  bool walked = false;
  for (const ConfiguredCollector& collector : core_->collectors) {
    const CollectorInfo& info = *collector.entry.info;
    if (!collector.enabled) {
      for (const FeatureDescriptor* feature : info.features)
        for (const auto& unit : progress.units)
          if (!feature->machine_wide || &unit == &progress.units.front())
            noted.push_back({feature,
                             info.name,
                             feature->machine_wide ? std::string() : unit->gpu.address,
                             false,
                             {Reason::disabled},
                             {},
                             {}});
      continue;
    }
    if (!wanted(info) || !(whole || info.always_on || collectors.has(info.name))) continue;
    bool in_time = progress.listed;
    bool success = true;
    Nanoseconds duration{};
    for (const Step& step : progress.steps) {
      if (step.slot->configured != &collector) continue;
      duration += step.duration;
      walked = walked || step.walked;
      if (step.outcome == Outcome::pending || step.outcome == Outcome::late) {
        in_time = false;
        continue;
      }
      if (step.outcome == Outcome::left_behind) {
        success = false;
        failures.insert(
            {std::string(info.name), step.unit->gpu.address, "collector", "a read hangs; skipped until it returns"});
        continue;
      }
      for (const Failure& failure : step.sink->failures()) {
        success = false;
        if (failure.code == kWaitsForAnother) continue;  // that one has been told
        failures.insert({std::string(info.name), step.unit->gpu.address, failure.where, failure.code.message()});
      }
      note_features(step, noted);
    }
    if (!in_time) late.push_back(info.name);
    if (!success || !in_time) failed.push_back(info.name);
    out.add(kCollectorSuccess, {info.name}, flag(success && in_time));
    out.add(kCollectorDuration, {info.name}, to_seconds(duration));
  }
  if (walked && progress.walk) {
    out.add(kClientWalkDuration, to_seconds(progress.walk->duration));
    out.add(kClientWalkComplete, flag(progress.walk->complete));
    out.add(kClientBlocksSkipped, Count{static_cast<double>(progress.walk->blocks_skipped)});
  }
  KeptFindings::List findings = core_->findings.explain(std::move(noted), core_->machine, [&](std::string_view device) {
    const auto unit = std::find_if(progress.units.begin(), progress.units.end(),
                                   [&](const auto& known) { return known->gpu.address == device; });
    return unit == progress.units.end() ? nullptr : &(*unit)->gpu;
  });
  for (const Finding& finding : *findings) {
    out.add(kFeatureAvailable,
            {finding.device, finding.feature->name, finding.available ? "ok" : to_string(finding.absent.reason)},
            flag(finding.available));
  }
  if (!whole) {  // somebody could not wait for all, which says nothing about the machine
    core_->scrape_log.late(late, core_->machine.clock.now());
    return findings;
  }
  if (progress.listed && progress.units.empty()) core_->scrape_log.no_device();
  core_->scrape_log.scrape(findings, failures, only_accumulating_ || !collectors_.all());
  return findings;
}

// Only what was really read is done: a collector that this run left out, or that failed, hung or was late, is not. A
// GPU that sleeps has nothing to be read.
void Registry::Run::plan_readings(const Progress& progress) {
  const Nanoseconds now = core_->machine.clock.now();
  for (const Step& step : progress.steps) {
    if (!step.slot->reading) continue;
    const bool read =
        step.outcome == Outcome::suspended || (step.outcome == Outcome::collected && step.sink->failures().empty());
    const Nanoseconds within = step.slot->read_within;
    if (read)
      step.slot->reading->was_read(now, within);
    else
      step.slot->reading->was_missed(now, within);
  }
  Nanoseconds due = now + core_->options.accumulator_interval;  // GPUs that come later are looked for, too
  for (const auto& unit : progress.units)
    for (const Slot& slot : unit->slots)
      if (slot.reading) due = std::min(due, slot.reading->due());
  core_->accumulating_due_after = std::max(due - now, Nanoseconds::zero());
}

// A thread that executes runs; kept, so that a scrape does not pay for making one.
class Registry::Worker {
 public:
  using ThreadMaker = std::function<std::thread(std::function<void()>)>;

  explicit Worker(const ThreadMaker& make_thread) : state_(std::make_shared<State>()) {
    std::function<void()> body = [state = state_] { loop(*state); };
    thread_ = make_thread ? make_thread(std::move(body)) : std::thread(std::move(body));
  }
  ~Worker() {
    if (!thread_.joinable()) return;
    stop();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void submit(std::function<void()> job) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->job = std::move(job);
    }
    state_->changed.notify_one();
  }
  // Left to itself: it ends when its job does.
  void abandon() {
    stop();
    thread_.detach();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> job;
    bool stopping = false;
  };
  void stop() {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->changed.notify_one();
  }
  static void loop(State& state) {
    ::pthread_setname_np(::pthread_self(), "collect");
    std::unique_lock lock(state.mutex);
    for (;;) {
      state.changed.wait(lock, [&] { return state.stopping || state.job; });
      if (!state.job) return;
      std::function<void()> job = std::exchange(state.job, nullptr);
      lock.unlock();
      job();
      job = nullptr;  // what it holds goes before the next wait
      lock.lock();
    }
  }

  std::shared_ptr<State> state_;
  std::thread thread_;
};

Registry::Registry(std::shared_ptr<void> keep_alive, Machine& machine, RegistryOptions registry_options,
                   std::vector<ConfiguredCollector> collectors, Log& log)
    : core_(std::make_shared<Core>(std::move(keep_alive), machine, std::move(registry_options), std::move(collectors),
                                   log)) {}

Registry::~Registry() {
  if (!current_) return;
  current_->cut_short();
  (void)current_->wait({});  // for a hanging read no longer than collector_timeout
}

std::shared_ptr<ScrapeRun> Registry::start(const CollectorSet& collectors, bool only_accumulating) {
  current_.reset();  // the memory of its page is used again
  const auto execute = [this](const std::shared_ptr<Run>& run, int epoch) {
    if (!worker_) worker_ = std::make_unique<Worker>(core_->options.make_thread);
    worker_->submit([run, epoch] { run->execute(epoch); });
  };
  const auto self = std::make_shared<std::weak_ptr<Run>>();
  auto run = std::make_shared<Run>(core_, collectors, only_accumulating, [this, execute, self](int epoch) {
    worker_->abandon();
    worker_.reset();
    if (epoch >= 0) execute(self->lock(), epoch);
  });
  *self = run;
  execute(run, 0);
  current_ = run;
  return run;
}

std::shared_ptr<const ScrapeResult> Registry::run(const Request& request) {
  const WaitLimit limit = WaitLimit::within(request.deadline);
  if (current_) (void)current_->wait({});
  return start(request.collectors, request.only_accumulating)->result(request.collectors, limit);
}

Nanoseconds Registry::accumulating_due_after() const { return core_->accumulating_due_after; }

std::vector<Gpu> Registry::gpus() const {
  const std::lock_guard lock(core_->known_mutex);
  return core_->known_gpus;
}

}  // namespace igpu
