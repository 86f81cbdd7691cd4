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

  std::vector<std::shared_ptr<SampleSink>> sinks;
  KeptFindings::List findings_;
  std::vector<std::string_view> failed_;  // names of the collectors' descriptors
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
  if (!progress.listed) {  // not yet, or not at all: the last known GPUs are the best answer
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
        if (failure.code == kWaitsForAnother) continue;  // the failure behind it is reported
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
  if (!whole) {  // the caller could not wait for all; this is no finding about the machine
    core_->scrape_log.late(late, core_->machine.clock.now());
    return findings;
  }
  if (progress.listed && progress.units.empty()) core_->scrape_log.no_device();
  core_->scrape_log.scrape(findings, failures, only_accumulating_ || !collectors_.all());
  return findings;
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
  for (const auto& unit : progress.units)
    for (const Slot& slot : unit->slots)
      if (slot.reading) due = std::min(due, slot.reading->due());
  core_->accumulating_due_after = std::max(due - now, Nanoseconds::zero());
}

}  // namespace igpu
