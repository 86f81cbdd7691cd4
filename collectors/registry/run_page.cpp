// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "registry/registry_metrics.h"
#include "registry/run.h"

namespace igpu {

namespace {

class Result final : public ScrapeResult {
 public:
  std::span<const SampleList* const> lists() const override { return lists_; }
  std::span<const Finding> findings() const override { return *findings_; }
  std::span<const std::string_view> failed_collectors() const override { return failed_; }
  std::span<const CollectorFailure> failures() const override { return failures_; }

  std::vector<std::shared_ptr<SampleSink>> sinks;
  KeptFindings::List findings_;
  std::vector<std::string_view> failed_;  // names of the collectors' descriptors
  std::vector<CollectorFailure> failures_;
  std::vector<const SampleList*> lists_;
};

}  // namespace

// Requires the lock.
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
    if (step.outcome != Outcome::collected || !(whole || info.always_on || collectors.has(info.name))) continue;
    result->sinks.push_back(step.sink);
    for (const Failure& failure : step.sink->failures())
      result->failures_.push_back({info.name, step.device(), failure});
  }
  auto own = core_->sinks->take();
  result->findings_ = report(progress, collectors, whole, *own, result->failed_);
  if (core_->options.own_metrics) result->sinks.push_back(std::move(own));
  for (const auto& sink : result->sinks) result->lists_.push_back(&sink->samples());
  return result;
}

// What a page says of its own run.
struct Registry::Run::Account {
  std::vector<NotedFeature> noted;
  std::set<ScrapeLog::Trouble> failures;
  std::vector<std::string_view> late, failed;  // names of collectors
  bool walked = false;
};

namespace {

// A collector that was turned off explicitly. One that is off by default is not reported as missing.
void note_disabled(const CollectorInfo& info, std::span<const std::shared_ptr<GpuUnit>> units,
                   std::vector<NotedFeature>& findings) {
  if (!info.enabled_by_default || units.empty()) return;
  const auto note = [&](const FeatureDescriptor& feature, const std::string& device) {
    findings.push_back({&feature, info.name, device, false, {Reason::disabled}});
  };
  for (const FeatureDescriptor* feature : info.features) {
    if (feature->machine_wide) {
      note(*feature, {});
      continue;
    }
    for (const auto& unit : units) note(*feature, unit->gpu.address);
  }
}

void add_walk(const WalkFacts& walk, SampleSink& out) {
  out.add(kClientWalkDuration, to_seconds(walk.duration));
  out.add(kClientWalkComplete, flag(walk.complete));
  out.add(kClientBlocksSkipped, Count{static_cast<double>(walk.blocks_skipped)});
  out.add(kClientFinderInfo, {walk.way}, Count{1});
  if (walk.age) out.add(kClientScanAge, to_seconds(*walk.age));
}

void add_features(std::span<const Finding> findings, SampleSink& out) {
  for (const Finding& finding : findings) {
    out.add(kFeatureAvailable,
            {finding.device, finding.feature->name, finding.available ? "ok" : to_string(finding.absent.reason)},
            flag(finding.available));
  }
}

}  // namespace

void Registry::Run::note_features(const Step& step, std::vector<NotedFeature>& findings) {
  const auto note = [&](const FeatureDescriptor& feature, bool available, Absent absent) {
    const std::string device = feature.machine_wide ? std::string() : step.device();
    const auto known = std::find_if(findings.begin(), findings.end(),
                                    [&](const NotedFeature& f) { return f.feature == &feature && f.device == device; });
    if (known == findings.end()) {
      findings.push_back({&feature, step.slot->info->name, device, available, absent});
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

void Registry::Run::note_failures(const Step& step, Account& account) {
  for (const Failure& failure : step.sink->failures()) {
    if (failure.code == kWaitsForAnother) continue;  // the failure behind it is reported
    account.failures.insert({std::string(step.slot->info->name), step.device(), failure.where, failure.code.message()});
  }
}

// Of a step that has come to its end.
void Registry::Run::add_step(const Step& step, Account& account) {
  if (step.outcome == Outcome::left_behind) {
    account.failures.insert(
        {std::string(step.slot->info->name), step.device(), "collector", "a read hangs; skipped until it returns"});
    return;
  }
  note_failures(step, account);
  note_features(step, account.noted);
}

void Registry::Run::add_collector(const ConfiguredCollector& collector, const Progress& progress, Account& account,
                                  SampleSink& out) const {
  const std::string_view name = collector.entry.info->name;
  // Without the list of GPUs the steps are unknown; a collector of the machine has one in any case.
  bool in_time = progress.listed || collector.entry.create_for_machine;
  bool success = true;
  bool has_steps = false;
  Nanoseconds duration{};
  for (const Step& step : progress.steps) {
    if (step.slot->configured != &collector) continue;
    has_steps = true;
    duration += step.duration;
    account.walked = account.walked || step.walked;
    if (step.outcome == Outcome::pending || step.outcome == Outcome::late) {
      in_time = false;
      continue;
    }
    success = success && step.outcome != Outcome::left_behind && step.sink->failures().empty();
    add_step(step, account);
  }
  if (collector.entry.create_for_machine) in_time = in_time && has_steps;
  if (!in_time) account.late.push_back(name);
  if (!success || !in_time) account.failed.push_back(name);
  if (!core_->options.own_metrics) return;
  out.add(kCollectorSuccess, {name}, flag(success && in_time));
  out.add(kCollectorDuration, {name}, to_seconds(duration));
}

// If they were not listed (yet, or at all) those known last are the best answer.
std::size_t Registry::Run::device_count(const Progress& progress) const {
  if (progress.listed) return progress.units.size();
  const std::lock_guard lock(core_->known_mutex);
  return core_->known_gpus->size();
}

bool Registry::Run::wanted(const ConfiguredCollector& collector, const Progress& progress) const {
  if (!only_accumulating_) return collector.entry.info->always_on || collectors_.has(collector.entry.info->name);
  return std::any_of(progress.steps.begin(), progress.steps.end(),
                     [&](const Step& step) { return step.slot->configured == &collector; });
}

KeptFindings::List Registry::Run::report(const Progress& progress, const CollectorSet& collectors, bool whole,
                                         SampleSink& out, std::vector<std::string_view>& failed) {
  Account account;
  constexpr std::size_t kFeaturesByGpu = 32;
  account.noted.reserve(kFeaturesByGpu * std::max<std::size_t>(progress.units.size(), 1));
  if (!progress.listed && whole)
    account.failures.insert({{}, {}, "listing the GPUs", "a read hangs; skipped until it returns"});
  if (progress.discovery_failed)
    account.failures.insert({{}, {}, progress.discovery_failed->where, progress.discovery_failed->code.message()});
  if (core_->options.own_metrics) out.add(kDevices, Count{static_cast<double>(device_count(progress))});
  for (const ConfiguredCollector& collector : core_->collectors) {
    const CollectorInfo& info = *collector.entry.info;
    if (!collector.enabled) {
      note_disabled(info, progress.units, account.noted);
    } else if (wanted(collector, progress) && (whole || info.always_on || collectors.has(info.name))) {
      add_collector(collector, progress, account, out);
    }
  }
  failed = std::move(account.failed);
  KeptFindings::List findings = explain(std::move(account.noted), progress);
  if (core_->options.own_metrics) {
    if (account.walked && progress.walk) add_walk(*progress.walk, out);
    add_features(*findings, out);
  }
  if (!whole) {  // the caller could not wait for all; this is no finding about the machine
    core_->scrape_log.late(account.late, core_->machine.clock.now());
    return findings;
  }
  if (progress.listed && progress.units.empty()) core_->scrape_log.no_device();
  core_->scrape_log.scrape(findings, account.failures, only_accumulating_ || !collectors_.all());
  return findings;
}

KeptFindings::List Registry::Run::explain(std::vector<NotedFeature>&& noted, const Progress& progress) const {
  return core_->findings.explain(std::move(noted), core_->machine, [&](std::string_view device) {
    const auto unit = std::find_if(progress.units.begin(), progress.units.end(),
                                   [&](const auto& known) { return known->gpu.address == device; });
    return unit == progress.units.end() ? nullptr : &(*unit)->gpu;
  });
}

// Only collectors that really read are done: not those that this run skipped, or that failed, hung or were late. A
// sleeping GPU has nothing to read.
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
  Nanoseconds due = now + core_->options.accumulator_interval;  // discovery runs at least this often, too
  const auto consider = [&due](const std::list<Slot>& slots) {
    for (const Slot& slot : slots)
      if (slot.reading) due = std::min(due, slot.reading->due());
  };
  consider(core_->machine_slots);
  for (const auto& unit : progress.units) consider(unit->slots);
  core_->accumulating_due_after = std::max(due - now, Nanoseconds::zero());
}

}  // namespace igpu
