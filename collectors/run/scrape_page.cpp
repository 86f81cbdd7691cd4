// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/feature.h"
#include "run/findings.h"
#include "run/registry.h"
#include "run/run.h"

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

// A collector that was turned off explicitly. One that is off by default is not reported as missing.
void note_disabled(const CollectorInfo& info, std::span<const std::shared_ptr<GpuUnit>> units,
                   std::vector<Finding>& findings) {
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
  out.add(kClientBlocksSkipped, count_of(walk.blocks_skipped));
  out.add(kClientFinderInfo, {walk.way}, Count{1});
  if (walk.age) out.add(kClientScanAge, to_seconds(*walk.age));
}

void add_features(std::span<const Finding> findings, SampleSink& out) {
  for (const Finding& finding : findings) {
    out.add(kFeatureAvailable,
            {finding.device, finding.feature->name, finding.available ? "ok" : to_string(finding.absent.reason)},
            flag(finding.available));
  }
  // A feature of the whole machine may be missing for two reasons.
  std::set<std::pair<std::string_view, std::string_view>> missing;
  for (const Finding& finding : findings)
    if (is_missing(finding) && missing.emplace(finding.device, finding.feature->name).second)
      out.add(kFeatureMissing, {finding.device, finding.feature->name}, flag(true));
}

class PageMaker {
 public:
  PageMaker(RegistryCore& core, const Progress& progress, const PageRequest& request)
      : core_(core), progress_(progress), request_(request) {}

  std::shared_ptr<const ScrapeResult> make() {
    auto result = std::make_shared<Result>();
    for (const Step& step : progress_.steps) {
      const CollectorInfo& info = *step.slot->info;
      if (step.outcome != Outcome::collected || !is_on_page(info)) continue;
      result->sinks.push_back(step.sink);
      for (const Failure& failure : step.sink->failures())
        result->failures_.push_back({info.name, step.device(), failure});
    }
    auto own = core_.sinks->empty_sink();
    report(*own);
    result->findings_ = std::move(findings_);
    result->failed_ = std::move(failed_);
    if (core_.options.own_metrics) result->sinks.push_back(std::move(own));
    for (const auto& sink : result->sinks) result->lists_.push_back(&sink->samples());
    return result;
  }

 private:
  bool is_on_page(const CollectorInfo& info) const {
    return request_.whole || info.always_on || request_.of_page.has(info.name);
  }
  bool ran(const ConfiguredCollector& collector) const {
    const CollectorInfo& info = *collector.entry.info;
    if (!request_.only_accumulating) return info.always_on || request_.of_run.has(info.name);
    return std::ranges::any_of(progress_.steps, [&](const Step& step) { return step.slot->configured == &collector; });
  }

  void report(SampleSink& out) {
    constexpr std::size_t kFeaturesByGpu = 32;
    noted_.reserve(kFeaturesByGpu * std::max<std::size_t>(progress_.units.size(), 1));
    if (!progress_.listed && request_.whole)
      troubles_.insert({{}, {}, "listing the GPUs", "a read hangs; skipped until it returns"});
    if (progress_.discovery_failed)
      troubles_.insert({{}, {}, progress_.discovery_failed->where, progress_.discovery_failed->code.message()});
    if (core_.options.own_metrics) out.add(kDevices, count_of(core_.device_count(progress_)));
    for (const ConfiguredCollector& collector : core_.collectors) {
      if (!collector.enabled) {
        note_disabled(*collector.entry.info, progress_.units, noted_);
      } else if (ran(collector) && is_on_page(*collector.entry.info)) {
        report_collector(collector, out);
      }
    }
    findings_ = explain();
    if (core_.options.own_metrics) {
      if (walked_ && progress_.walk) add_walk(*progress_.walk, out);
      add_features(*findings_, out);
    }
    if (!request_.whole) {  // the caller did not wait for all collectors, which says nothing about the machine
      core_.scrape_log.late(late_, core_.machine.clock.now());
      return;
    }
    if (progress_.listed) core_.report_missing(progress_.units);
    core_.scrape_log.scrape(findings_, troubles_, request_.only_accumulating || !request_.of_run.all());
  }

  void report_collector(const ConfiguredCollector& collector, SampleSink& out) {
    const std::string_view name = collector.entry.info->name;
    // Until the GPUs are listed the steps are unknown. A collector of the machine always has one.
    bool in_time = progress_.listed || !collector.entry.create;
    bool success = true;
    bool has_steps = false;
    Nanoseconds duration{};
    for (const Step& step : progress_.steps) {
      if (step.slot->configured != &collector) continue;
      has_steps = true;
      duration += step.duration;
      walked_ = walked_ || step.walked;
      if (step.outcome == Outcome::pending || step.outcome == Outcome::late) {
        in_time = false;
        continue;
      }
      success = success && step.outcome != Outcome::left_behind && step.sink->failures().empty();
      note_finished(step);
    }
    if (collector.entry.create_for_machine) in_time = in_time && has_steps;
    if (!in_time) late_.push_back(name);
    if (!success || !in_time) failed_.push_back(name);
    if (!core_.options.own_metrics) return;
    out.add(kCollectorSuccess, {name}, flag(success && in_time));
    out.add(kCollectorDuration, {name}, to_seconds(duration));
  }

  void note_finished(const Step& step) {
    const std::string name(step.slot->info->name);
    if (step.outcome == Outcome::left_behind) {
      troubles_.insert({name, step.device(), "collector", "a read hangs; skipped until it returns"});
      return;
    }
    for (const Failure& failure : step.sink->failures()) {
      if (failure.code == kWaitsForAnother) continue;  // the failure behind it is reported
      troubles_.insert({name, step.device(), failure.where, failure.code.message()});
    }
    note_features(step);
  }

  void note_features(const Step& step) {
    const auto note = [&](const FeatureDescriptor& feature, const std::string& device, bool available, Absent absent) {
      const auto known =
          std::ranges::find_if(noted_, [&](const Finding& f) { return f.feature == &feature && f.device == device; });
      if (known == noted_.end()) {
        noted_.push_back({&feature, step.slot->info->name, device, available, absent});
      } else if (available && !known->available) {  // machine-wide: one GPU has it
        known->available = true;
        known->absent = {};
      }
    };
    if (step.outcome == Outcome::suspended) {
      for (const FeatureDescriptor* feature : step.slot->info->features)
        if (const auto absent = absence_while_asleep(*feature, step.unit->gpu); absent && !feature->machine_wide)
          note(*feature, step.device(), false, *absent);
      return;
    }
    for (const auto& state : step.sink->features()) {
      const std::string own = state.device.empty() ? step.device() : state.device;
      note(*state.feature, state.feature->machine_wide ? std::string() : own, state.available, state.absent);
    }
  }

  KeptFindings::List explain() {
    return core_.findings.explain(std::move(noted_), core_.machine, [&](std::string_view device) {
      const auto unit =
          std::ranges::find_if(progress_.units, [&](const auto& known) { return known->gpu.address == device; });
      return unit == progress_.units.end() ? nullptr : &(*unit)->gpu;
    });
  }

  RegistryCore& core_;
  const Progress& progress_;
  const PageRequest& request_;

  std::vector<Finding> noted_;
  std::set<ScrapeLog::Trouble> troubles_;
  std::vector<std::string_view> late_, failed_;  // names of collectors
  bool walked_ = false;
  KeptFindings::List findings_;
};

}  // namespace

std::shared_ptr<const ScrapeResult> make_scrape_page(RegistryCore& core, const Progress& progress,
                                                     const PageRequest& request) {
  return PageMaker(core, progress, request).make();
}

}  // namespace igpu
