// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/counter_window.h"
#include "base/monotonic_counter.h"
#include "base/scan_schedule.h"
#include "collector/collector.h"
#include "kernel/sysfs/gt_sysfs.h"

namespace igpu {
namespace {

constexpr CounterMetric<Seconds, 2> kResidency{
    "intel_gpu_rc6_residency_seconds_total", "Time in the power-saving state RC6 (xe: C6).", {"device", "gt"}};
constexpr GaugeMetric<Ratio, 2> kRatio{
    "intel_gpu_rc6_residency_ratio", "Share of the window in the power-saving state RC6 (xe: C6).", {"device", "gt"}};
constexpr CounterMetric<Seconds, 2> kAwake{
    "intel_gpu_awake_seconds_total", "Time the GT was held awake by software (i915).", {"device", "gt"}};

constexpr std::array<KernelAbsence, 2> kNoRc6{{
    {Driver::i915, kEither,
     "this kernel's i915 driver has neither the event rc6-residency nor the file rc6_residency_ms",
     "Linux 4.16 or newer"},
    {Driver::xe, kEither, "this kernel's xe driver has no gtidle folder for this GPU's GTs", "Linux 6.8 or newer"},
}};
constexpr std::array<KernelAbsence, 2> kNoAwakeTime{{
    {Driver::i915, kEither, "this kernel's i915 driver has no PMU, or not the event software-gt-awake-time",
     "Linux 5.15 or newer"},
    {Driver::xe, kEither, kNotInXe, ""},
}};
constexpr FeatureDescriptor kRc6Feature{"rc6", "Time in the power-saving state.", Need::perf_events, false, kNoRc6};
constexpr FeatureDescriptor kRc6ByFile{kRc6Feature.name, kRc6Feature.meaning, Need::nothing_special, false,
                                       kNoRc6};  // xe: gtidle, no PMU
constexpr FeatureDescriptor kAwakeFeature{"awake_time", "Time the GT was held awake.", Need::awake_event, false,
                                          kNoAwakeTime};

constexpr std::uint64_t kNanosecondsPerMillisecond = 1'000'000;
// No more residency than time, but for rounding and for the clock of the GPU.
constexpr GainBound kTimeItself{.per_second = 1e9 * 65 / 64, .at_once = 20e6};

// The power-saving state: RC6 of i915, C6 of xe. Read from the i915 PMU if permitted (nanoseconds, does not wake the
// GPU), otherwise from sysfs (milliseconds). Both advance only when they are read: the hardware's counter wraps after
// 91 minutes, on Gen9LP after 59. Awake time is reported for the root GT only: the events of other GTs are listed, but
// count the root GT's time (i915_pmu.c, __i915_pmu_event_read()).
class Rc6Collector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{.name = "rc6",
                                       .help = "Residency in the power-saving state RC6/C6.",
                                       .accumulates_on_read = true,
                                       .metrics = kListOf<MetricDescriptor, kResidency, kRatio, kAwake>,
                                       .features = kListOf<FeatureDescriptor, kRc6Feature, kAwakeFeature>};
  explicit Rc6Collector(const CollectorContext& context)
      : sys_(context.machine.sys),
        gpu_(context.gpu),
        pmu_(context.gpu_pmu),
        memory_(context.memory),
        min_window_(context.min_window) {
    if (gpu_.driver == Driver::i915) want_events();
  }

  void collect(ScrapePass& pass, SampleSink& out) override {
    look_for_files();
    if (gpu_.driver == Driver::i915 && !events_known_) want_events();
    const bool any_event = awake_ || std::ranges::any_of(gts_, [](const Gt& gt) { return gt.event.has_value(); });
    const auto pmu = any_event ? pmu_.refresh(pass.number()) : Reading<Unit>(Absent{Reason::kernel});
    if (pmu && std::exchange(generation_, pmu_.generation()) != pmu_.generation())
      for (Gt& gt : gts_)
        if (gt.source == Source::pmu) gt.window.restart();
    {
      FeatureReport report(out, gpu_.driver == Driver::xe ? kRc6ByFile : kRc6Feature, {Reason::kernel},
                           gpu_.virtual_function);
      for (Gt& gt : gts_) {
        const auto count = read(gt, pass, pmu);
        if (report.note(count)) write(gt, *count, out);
      }
    }
    collect_awake(out, pmu);
  }

  // sysfs reports nothing while the GPU sleeps: no window may span that time. The PMU continues to count.
  void gpu_is_suspended() override {
    for (Gt& gt : gts_)
      if (gt.source == Source::sysfs) gt.window.restart();
  }

  Nanoseconds read_within() const override {
    constexpr Nanoseconds kShortestLap = std::chrono::minutes(59);  // 2^32 times 833 ns
    return kShortestLap / 2;
  }

 private:
  enum class Source { none, pmu, sysfs };
  struct Gt {
    std::string id;
    std::optional<GtSysfs> sysfs;
    std::optional<PmuSession::Handle> event;
    MonotonicCounter& total;  // nanoseconds
    CounterWindow<1> window;  // nanoseconds
    Source source = Source::none;
  };
  struct Count {
    Source source;
    std::uint64_t nanoseconds;
    Nanoseconds time;  // taken before the reading, for the window
    Nanoseconds read_until;
  };
  // The driver may create its PMU later than its other files.
  void want_events() {
    const auto events = pmu_.events();
    if (!events) return;
    events_known_ = true;
    for (const std::string& event : *events) {
      // One GT: no suffix. Several: -gt0, -gt1.
      constexpr std::string_view kEvent = "rc6-residency";
      if (event == kEvent) gt("0").event = pmu_.want(event);
      if (event.starts_with("rc6-residency-gt")) gt(event.substr(kEvent.size() + 3)).event = pmu_.want(event);
      if (event == "software-gt-awake-time" || event == "software-gt-awake-time-gt0") awake_ = pmu_.want(event);
    }
  }

  void look_for_files() {
    const bool found = std::ranges::any_of(gts_, [](const Gt& gt) { return gt.sysfs.has_value(); });
    if (!scans_.due(found)) return;
    for (GtSysfs& files : GtSysfs::find(sys_, gpu_)) gt(files.id()).sysfs.emplace(std::move(files));
  }

  Gt& gt(std::string_view id) {
    const auto known = std::ranges::find(gts_, id, &Gt::id);
    if (known != gts_.end()) return *known;
    MonotonicCounter& total = memory_.counter("gt" + std::string(id));
    total.rebase();
    return gts_.emplace_back(Gt{std::string(id), {}, {}, total, CounterWindow<1>(min_window_)});
  }

  Reading<Count> read(Gt& gt, ScrapePass& pass, const Reading<Unit>& pmu) {
    // A PMU that fails once is not replaced: with each change of source the time since the last reading is lost.
    if (gt.event && (pmu || pmu.is_failure())) {
      const auto count = pmu_.raw(*gt.event);
      if (count) return Count{Source::pmu, *count, pmu_.time(), pmu_.time()};
      if (count.is_failure() || !gt.sysfs) return count.propagate<Count>();
    }
    if (!gt.sysfs) return pmu.propagate<Count>();
    const Nanoseconds now = pass.now();
    const auto residency = gt.sysfs->residency_ms();
    // Without the file, the reason is that of the PMU.
    if (residency.is_absent() && gt.event && pmu.is_absent()) return pmu.propagate<Count>();
    if (residency && *residency > std::numeric_limits<std::uint64_t>::max() / kNanosecondsPerMillisecond)
      return Failure{std::make_error_code(std::errc::result_out_of_range), "RC6 residency of GT " + gt.id};
    return residency.map([&](std::uint64_t ms) {
      return Count{Source::sysfs, ms * kNanosecondsPerMillisecond, now, pass.now()};
    });
  }

  void write(Gt& gt, const Count& count, SampleSink& out) {
    // The sources start at different counts, so values of one are not compared with those of the other.
    if (count.source != gt.source && gt.source != Source::none) {
      gt.total.rebase();
      gt.window.restart();
    }
    gt.source = count.source;
    const std::uint64_t range =
        count.source == Source::sysfs ? gt.sysfs->residency_range().value_or(0) * kNanosecondsPerMillisecond : 0;
    const Advance step = gt.total.advance_bounded(count.nanoseconds, range, kTimeItself, count.time, count.read_until);
    if (step == Advance::reset) gt.window.restart();
    out.add(kResidency, {gpu_.address, gt.id}, Seconds{static_cast<double>(gt.total.total()) / 1e9});
    if (step == Advance::held) return;
    if (const auto delta = gt.window.advance(count.time, {count.nanoseconds}))
      out.add(kRatio, {gpu_.address, gt.id},
              clamped_ratio(static_cast<double>(delta->counts[0]), static_cast<double>(delta->elapsed.count())));
  }

  void collect_awake(SampleSink& out, const Reading<Unit>& pmu) {
    FeatureReport report(out, kAwakeFeature, {Reason::kernel}, gpu_.virtual_function);  // no version of xe has it
    if (!awake_) return;
    const auto count = pmu ? pmu_.count(*awake_) : pmu.propagate<std::uint64_t>();
    if (report.note(count)) out.add(kAwake, {gpu_.address, "0"}, Seconds{static_cast<double>(*count) / 1e9});
  }

  const Directory& sys_;
  const Gpu& gpu_;
  PmuSession& pmu_;
  CounterMemory& memory_;
  const Nanoseconds min_window_;
  ScanSchedule scans_;
  std::vector<Gt> gts_;
  bool events_known_ = false;
  std::optional<PmuSession::Handle> awake_;
  std::uint64_t generation_ = 0;
};

}  // namespace

CollectorEntry rc6_collector() { return entry<Rc6Collector>(); }

}  // namespace igpu
