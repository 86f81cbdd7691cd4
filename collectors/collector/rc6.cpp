// SPDX-License-Identifier: Apache-2.0
#include "collector/rc6.h"

#include <algorithm>

#include "metric/feature_report.h"

namespace igpu {
namespace {

constexpr Metric<Seconds, 2> kResidency{"intel_gpu_rc6_residency_seconds_total", Kind::counter,
                                        "Time in the power-saving state RC6 (xe: C6).", {"device", "gt"}};
constexpr Metric<Ratio, 2> kRatio{"intel_gpu_rc6_residency_ratio", Kind::gauge,
                                  "Share of the window in the power-saving state RC6 (xe: C6).", {"device", "gt"}};
constexpr Metric<Seconds, 2> kAwake{"intel_gpu_awake_seconds_total", Kind::counter,
                                    "Time the GT was held awake by software (i915).", {"device", "gt"}};

constexpr FeatureDescriptor kRc6Feature{"rc6", "Time in the power-saving state."};
constexpr FeatureDescriptor kAwakeFeature{"awake_time", "Time the GT was held awake.", Need::perf_events};

constexpr const MetricDescriptor* kMetrics[] = {&kResidency, &kRatio, &kAwake};
constexpr const FeatureDescriptor* kFeatures[] = {&kRc6Feature, &kAwakeFeature};

}  // namespace

constexpr CollectorInfo Rc6Collector::kInfo{.name = "rc6",
                                            .help = "Residency in the power-saving state RC6/C6.",
                                            .accumulates_on_read = true,
                                            .metrics = kMetrics,
                                            .features = kFeatures};

std::unique_ptr<Collector> Rc6Collector::create(const CollectorContext& context) {
  return std::make_unique<Rc6Collector>(context);
}

Rc6Collector::Rc6Collector(const CollectorContext& context) : gpu_(context.gpu), pmu_(context.gpu_pmu) {
  std::vector<std::string> events;
  if (gpu_.driver == Driver::i915) events = pmu_.events().value_or({});
  const auto wanted = [&](const std::string& name) -> std::optional<PmuSession::Handle> {
    if (std::find(events.begin(), events.end(), name) == events.end()) return std::nullopt;
    return pmu_.want(name);
  };
  for (GtSysfs& gt : GtSysfs::find(context.machine.sys, gpu_)) {
    auto event = wanted("rc6-residency-gt" + gt.id());
    if (!event && gt.id() == "0") event = wanted("rc6-residency");
    MonotonicCounter& total = context.memory.counter("gt" + gt.id());
    total.rebase();
    gts_.push_back({std::move(gt), event, total, CounterWindow<1>(context.min_window)});
  }
  // The driver's read path knows the root GT only, whatever the event is called.
  awake_ = wanted("software-gt-awake-time");
  if (!awake_) awake_ = wanted("software-gt-awake-time-gt0");
}

void Rc6Collector::collect(ScrapePass& pass, SampleSink& out) {
  const bool any_event = awake_ || std::any_of(gts_.begin(), gts_.end(), [](const Gt& gt) { return gt.event.has_value(); });
  const auto pmu = any_event ? pmu_.refresh(pass.number()) : Reading<Unit>(Absent{Reason::kernel});
  {
    FeatureReport report(out, kRc6Feature);
    for (Gt& gt : gts_) report.note(collect_gt(gt, pass, out, static_cast<bool>(pmu)));
  }
  collect_awake(out, pmu);
}

Reading<Unit> Rc6Collector::collect_gt(Gt& gt, ScrapePass& pass, SampleSink& out, bool pmu_counts) {
  std::uint64_t ns = 0;
  Nanoseconds time{};
  std::uint64_t range = 0;
  Source source = Source::pmu;
  const auto raw = pmu_counts && gt.event ? pmu_.raw(*gt.event) : Reading<std::uint64_t>(Absent{Reason::kernel});
  if (raw) {
    ns = *raw;
    time = pmu_.time();
  } else {
    source = Source::sysfs;
    time = pass.now();
    const auto ms = gt.sysfs.residency_ms();
    if (!ms) return ms.propagate<Unit>();
    ns = *ms * 1'000'000;
    range = gt.sysfs.residency_range().value_or(0) * 1'000'000;
  }
  if (source != gt.source && gt.source != Source::none) {
    gt.total.rebase();
    gt.window.restart();
  }
  gt.source = source;
  const std::uint64_t total = range != 0 ? gt.total.advance_wrapping(ns, range) : gt.total.advance(ns);
  out.add(kResidency, {gpu_.address, gt.sysfs.id()}, Seconds{static_cast<double>(total) * 1e-9});
  if (const auto delta = gt.window.advance(time, {ns}))
    out.add(kRatio, {gpu_.address, gt.sysfs.id()},
            clamped_ratio(static_cast<double>(delta->counts[0]), static_cast<double>(delta->elapsed.count())));
  return Unit{};
}

void Rc6Collector::collect_awake(SampleSink& out, const Reading<Unit>& pmu) {
  FeatureReport report(out, kAwakeFeature, {Reason::kernel});
  if (!awake_) return;
  if (!pmu) {
    report.note(pmu);
    return;
  }
  const auto count = pmu_.count(*awake_);
  if (report.note(count)) out.add(kAwake, {gpu_.address, "0"}, Seconds{static_cast<double>(*count) * 1e-9});
}

}  // namespace igpu
