// SPDX-License-Identifier: Apache-2.0
#include "run/run.h"

#include <utility>

namespace igpu {

template <class Interface>
class RegistryRun::PassOf : public Interface {
 public:
  PassOf(RegistryRun& run, Step& step) : run_(run), step_(step) {}
  Nanoseconds now() const final { return run_.core_->machine.clock.now(); }
  Reading<const ClientSnapshot*> clients() final {
    step_.walked = true;
    return run_.clients();
  }
  FactBoard& facts() final { return run_.facts_; }

 protected:
  RegistryRun& run_;
  Step& step_;
};

class RegistryRun::Pass final : public PassOf<ScrapePass> {
 public:
  using PassOf::PassOf;
  std::uint64_t number() const override { return run_.number_; }
  GpuPower power() const override { return step_.power.power; }
  Reading<bool> suspended() const override { return step_.power.suspended; }
};

class RegistryRun::WholePass final : public PassOf<MachinePass> {
 public:
  using PassOf::PassOf;
  std::shared_ptr<const std::vector<Gpu>> gpus() const override {
    const std::lock_guard lock(run_.core_->known_mutex);
    return run_.core_->known_gpus;
  }
  std::span<const std::string> asleep() const override { return run_.asleep_; }
  std::vector<AccessibleGpu> accessible_gpus() const override {
    const std::lock_guard lock(run_.mutex_);
    std::vector<AccessibleGpu> gpus;
    for (const auto& unit : run_.progress_.units) gpus.push_back({unit->gpu, std::make_shared<UnitAccess>(*unit)});
    return gpus;
  }
  void differs_by_client(std::shared_ptr<ClientSamples> samples) override {
    const std::lock_guard lock(run_.mutex_);
    if (run_.ending_) return;  // an abandoned thread: the page is being made
    run_.progress_.by_client = std::move(samples);
    run_.progress_.by_client_of = step_.slot->info;
  }
};

bool RegistryRun::wanted(const Slot& slot) const {
  if (reads_clients_ && is_read_between_scrapes(*slot.info)) return true;
  if (only_accumulating_) return slot.reading && slot.reading->is_near(core_->machine.clock.now());
  return slot.info->always_on || collectors_.has(slot.info->name);
}

Reading<const ClientSnapshot*> RegistryRun::clients() {
  const Failure late{std::make_error_code(kWaitsForAnother), "proc: an earlier walk has not come back"};
  const std::unique_lock lock(clients_mutex_, std::try_to_lock);
  if (!lock) return late;
  if (!clients_) {
    const std::unique_lock walk_lock(core_->walk_mutex, std::try_to_lock);
    if (!walk_lock) return late;
    if (!listed_) return Failure{std::make_error_code(kWaitsForAnother), "the list of GPUs has not come back"};
    clients_.emplace(core_->find_clients(chosen_, asleep_));
    if (*clients_) {
      const ClientSnapshot& snapshot = **clients_;
      const std::lock_guard guard(mutex_);
      if (ending_) return late;  // an abandoned thread: the page is being made
      progress_.walk = WalkFacts{snapshot.duration, snapshot.complete, snapshot.blocks_skipped, snapshot.way, {}};
      if (snapshot.oldest_scan) progress_.walk->age = snapshot.time + snapshot.duration - *snapshot.oldest_scan;
    }
  }
  if (!*clients_) return clients_->propagate<const ClientSnapshot*>();
  return &**clients_;
}

void RegistryRun::prepare() {
  Progress found;
  std::vector<std::string> chosen, asleep;
  const std::unique_lock lock(core_->discovery_mutex, std::try_to_lock);
  if (lock) {  // else an abandoned thread still holds it
    core_->follow_devices();
    found.listed = true;
    found.units = core_->units;
    found.discovery_failed = core_->discovery.failure();
    core_->publish_known();
  }
  std::vector<PowerReading> power;
  for (const auto& unit : found.units) {
    chosen.push_back(unit->gpu.address);
    power.push_back(unit->power->read(core_->machine.clock.now()));
    if (power.back().power == GpuPower::awake) continue;
    asleep.push_back(unit->gpu.address);
    core_->ledgers.pause_clock(unit->gpu.address);
  }
  found.steps.reserve(core_->machine_slots.size() + core_->collectors.size() * found.units.size());
  // Topic by topic rather than GPU by GPU: families stay together on the page.
  for (const ConfiguredCollector& collector : core_->collectors) {
    for (std::size_t i = 0; i < found.units.size(); ++i)
      for (Slot& slot : found.units[i]->slots)
        if (slot.configured == &collector && wanted(slot))
          found.steps.push_back({found.units[i], &slot, power[i], core_->sinks->empty_sink(), Outcome::pending, {}});
    for (Slot& slot : core_->machine_slots)
      if (slot.configured == &collector && wanted(slot))
        found.steps.push_back({nullptr, &slot, {}, core_->sinks->empty_sink(), Outcome::pending, {}});
  }
  const std::lock_guard guard(mutex_);
  if (ending_ || finished_) return;  // the run was abandoned meanwhile
  listed_ = found.listed;
  progress_ = std::move(found);
  chosen_ = std::move(chosen);
  asleep_ = std::move(asleep);
  prepared_ = true;
}

Outcome RegistryRun::collect_gpu(Step& step) {
  std::unique_ptr<Collector>& collector = step.slot->collector;
  if (step.power.power != GpuPower::awake && !step.slot->info->runs_while_suspended) {
    if (collector) collector->gpu_is_suspended();
    return Outcome::suspended;
  }
  Pass pass(*this, step);
  if (!collector) collector = core_->make_collector(*step.slot, *step.unit);
  collector->collect(pass, *step.sink);
  step.slot->read_within = collector->read_within();
  return Outcome::collected;
}

Outcome RegistryRun::collect_machine(Step& step) {
  std::unique_ptr<MachineCollector>& collector = step.slot->machine_collector;
  WholePass pass(*this, step);
  if (!collector) collector = core_->make_machine_collector(*step.slot);
  collector->collect(pass, *step.sink);
  return Outcome::collected;
}

Outcome RegistryRun::collect(Step& step) {
  try {
    return step.unit ? collect_gpu(step) : collect_machine(step);
  } catch (const std::exception& error) {
    step.sink->clear();
    step.sink->failed(
        {std::make_error_code(std::errc::state_not_recoverable), std::string("exception: ") + error.what()});
  }
  return Outcome::collected;
}

void RegistryRun::execute(int epoch) {
  const bool first = [&] {
    const std::lock_guard lock(mutex_);
    return !prepared_;
  }();
  if (first) {
    try {
      prepare();
    } catch (const std::exception& error) {
      core_->log.write(LogLevel::error, "listing the GPUs failed",
                       {{"error", error.what()}, {"hint", "please report this"}});
    }
  }
  std::unique_lock lock(mutex_);
  std::vector<Step>& steps = progress_.steps;
  for (;;) {
    if (epoch != epoch_) return;
    while (current_ < steps.size() && steps[current_].outcome != Outcome::pending) ++current_;
    if (current_ == steps.size()) return finish(lock);
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
    if (epoch != epoch_) return;  // returned too late: the page was sent without it
    steps[index].outcome = outcome;
    steps[index].duration = duration;
    steps[index].walked = step.walked;
    if (waiting_for_some_ > 0) changed_.notify_all();
  }
}

}  // namespace igpu
