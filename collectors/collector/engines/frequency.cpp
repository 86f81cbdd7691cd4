// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counter_window.h"
#include "base/scan_schedule.h"
#include "collector/collector.h"
#include "collector/shared/shared_options.h"
#include "kernel/sysfs/gt_sysfs.h"
#include "kernel/windows/wddm.h"

namespace igpu {
namespace {

constexpr GaugeMetric<Hertz, 3> kFrequency{
    "intel_gpu_frequency_hertz", "Current frequency; 0 while the GT is parked.", {"device", "gt", "kind"}};
constexpr GaugeMetric<Hertz, 3> kAverage{"intel_gpu_frequency_average_hertz",
                                         "Mean frequency over the window; idle time counts as 0.",
                                         {"device", "gt", "kind"}};
constexpr CounterMetric<Cycles, 3> kCycles{"intel_gpu_frequency_cycles_total",
                                           "Integral of the frequency: its rate is the mean frequency in hertz.",
                                           {"device", "gt", "kind"}};
constexpr GaugeMetric<Hertz, 3> kLimit{"intel_gpu_frequency_limit_hertz",
                                       "Frequency settings (min, max, boost) and hardware bounds (rp0 highest, rp1, "
                                       "rpe efficient, rpn lowest, rpa achievable).",
                                       {"device", "gt", "limit"}};
constexpr GaugeMetric<Flag, 3> kFrequencyThrottled{
    "intel_gpu_throttled", "Whether this reason currently limits the frequency.", {"device", "gt", "reason"}};

constexpr std::array<KernelAbsence, 3> kFrequencyNoFrequency{{
    {Driver::i915, kEither, "this kernel's i915 driver has no frequency files for this GPU",
     "Linux 5.19 or newer, on GPUs of Gen6 and newer"},
    {Driver::xe, kEither, "this kernel's xe driver has no freq0 folder for this GPU's GTs", "Linux 6.8 or newer"},
    {Driver::wddm, kEither, "the graphics driver does not report its frequency",
     "a driver for WDDM 2.4 or newer (Windows 10 1803); it may also answer without a value"},
}};
constexpr std::array<KernelAbsence, 4> kNoAverage{{
    {Driver::i915, kEither, "i915's PMU is there, but lists neither actual-frequency nor requested-frequency", "",
     EOPNOTSUPP},
    {Driver::i915, kEither,
     "this kernel's i915 driver has no PMU, or not the events actual-frequency and requested-frequency",
     "Linux 4.16 or newer"},
    {Driver::xe, kEither, kNotInXe, ""},
    {Driver::wddm, kEither, "Windows does not report a mean frequency", ""},
}};
constexpr std::array<KernelAbsence, 3> kNoThrottle{{
    {Driver::i915, kEither, "this kernel's i915 driver shows no throttle reasons",
     "Linux 5.19 or newer, on GPUs of Gen11 and newer"},
    {Driver::xe, kEither, "this kernel's xe driver shows no throttle reasons", "Linux 6.8 or newer"},
    {Driver::wddm, kEither, "Windows does not report throttle reasons", ""},
}};
constexpr FeatureDescriptor kFrequencyFeature{"frequency", "Current frequency and its limits.", Need::nothing_special,
                                              false, kFrequencyNoFrequency};
constexpr FeatureDescriptor kFrequencyOfNode{kFrequencyFeature.name, kFrequencyFeature.meaning, Need::windows_rights,
                                             false, kFrequencyNoFrequency};
constexpr FeatureDescriptor kAverageFeature{"frequency_average", "Mean frequency over the window.", Need::perf_events,
                                            false, kNoAverage};
constexpr FeatureDescriptor kThrottleFeature{"throttle_reasons", "Why the frequency is limited.", Need::nothing_special,
                                             false, kNoThrottle};

// Frequencies, their limits, and the reasons that limit them now. Present values come from sysfs on both drivers, means
// over the window from integrals of the i915 PMU. (The frequency events of xe are not counters: each read adds a
// sample.)
class FrequencyCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "frequency",
      .help = "GT frequencies, limits and throttle reasons.",
      .metrics = kListOf<MetricDescriptor, kFrequency, kAverage, kCycles, kLimit, kFrequencyThrottled>,
      .in_windows = kListOf<MetricDescriptor, kFrequency, kLimit>,
      .features = kListOf<FeatureDescriptor, kFrequencyFeature, kAverageFeature, kThrottleFeature>,
      .options = kListOf<OptionDescriptor, kSampledEvents>,
      .notes = "Under Windows: kind \"actual\" and limit \"max\", of the engine that renders."};
  explicit FrequencyCollector(const CollectorContext& context)
      : sys_(context.machine.sys), gpu_(context.gpu), pmu_(context.gpu_pmu), min_window_(context.min_window) {
    if (gpu_.driver == Driver::wddm) adapter_.emplace(context.machine, context.gpu);
    if (gpu_.driver != Driver::i915) {
      no_averages_ = {Reason::kernel};  // no version of the driver has it
      return;
    }
    // These events start a 200 Hz timer in the driver while the GPU is busy.
    if (!context.options[kSampledEvents]) {
      no_averages_ = {Reason::disabled};
      return;
    }
    find_averages_ = true;
    find_averages();
  }

  void collect(ScrapePass& pass, SampleSink& out) override {
    if (adapter_) return collect_adapter(out);
    if (scans_.due(!gts_.empty())) gts_ = GtSysfs::find(sys_, gpu_);
    {
      // The host runs the clocks of a virtual function.
      const Absent none{Reason::kernel};
      FeatureReport frequency(out, kFrequencyFeature, none, gpu_.virtual_function);
      FeatureReport throttle(out, kThrottleFeature, none, gpu_.virtual_function);
      for (GtSysfs& gt : gts_) {
        frequency.add(kFrequency, {gpu_.address, gt.id(), "actual"}, gt.actual());
        frequency.add(kFrequency, {gpu_.address, gt.id(), "requested"}, gt.requested());
        for (GtSysfs::Limit& limit : gt.limits())
          frequency.add(kLimit, {gpu_.address, gt.id(), limit.name}, gt.bound(limit));
        throttle.note(gt.throttle([&](std::string_view reason, bool active) {
          out.add(kFrequencyThrottled, {gpu_.address, gt.id(), reason}, flag(active));
        }));
      }
    }
    collect_averages(pass, out);
  }

 private:
  // One integral of the PMU, in MHz times seconds.
  struct Average {
    std::string gt;
    std::string_view kind;
    PmuSession::Handle handle;
    CounterWindow<1> window;
  };
  // The driver may create its PMU later than its other files.
  void find_averages() {
    const auto events = pmu_.events();
    if (!events) {
      no_averages_ = events.is_absent() ? events.absent() : Absent{Reason::kernel};
      return;
    }
    find_averages_ = false;
    no_averages_ = {Reason::kernel, EOPNOTSUPP};  // unless one of these is found
    for (const auto& [event, kind] :
         {std::pair<std::string_view, std::string_view>("actual-frequency", "actual"),
          std::pair<std::string_view, std::string_view>("requested-frequency", "requested")}) {
      for (const std::string& name : *events) {
        // One GT: no suffix. Several: -gt0, -gt1.
        if (!name.starts_with(event)) continue;
        std::string_view suffix = std::string_view(name).substr(event.size());
        if (!suffix.empty() && !suffix.starts_with("-gt")) continue;
        const std::string gt(suffix.empty() ? std::string_view("0") : suffix.substr(3));
        averages_.push_back({gt, kind, pmu_.want(name), CounterWindow<1>(min_window_)});
      }
    }
  }

  void collect_averages(ScrapePass& pass, SampleSink& out) {
    if (find_averages_) find_averages();
    FeatureReport report(out, kAverageFeature, no_averages_, gpu_.virtual_function);
    if (averages_.empty()) return;
    const auto read = pmu_.refresh(pass.number());
    if (!read) {
      report.note(read);
      return;
    }
    if (std::exchange(generation_, pmu_.generation()) != pmu_.generation())
      for (Average& average : averages_) average.window.restart();
    constexpr double kCyclesPerCount = 1e6;  // a count is one MHz for one second
    for (Average& average : averages_) {
      const auto count = pmu_.count(average.handle);
      if (!report.note(count)) continue;
      out.add(kCycles, {gpu_.address, average.gt, average.kind}, Cycles{static_cast<double>(*count) * kCyclesPerCount});
      const auto raw = pmu_.raw(average.handle);
      if (!raw) continue;
      if (const auto delta = average.window.advance(pmu_.time(), {*raw})) {
        const double hertz = static_cast<double>(delta->counts[0]) * kCyclesPerCount / to_seconds(delta->elapsed).value;
        out.add(kAverage, {gpu_.address, average.gt, average.kind}, Hertz{hertz});
      }
    }
  }

  // Of the engine that renders: the one clock that Windows tells of an engine.
  void collect_adapter(SampleSink& out) {
    FeatureReport frequency(out, kFrequencyOfNode, {Reason::kernel});
    const WddmClock clock = adapter_->clock();
    if (frequency.note(clock.actual)) out.add(kFrequency, {gpu_.address, "0", "actual"}, *clock.actual);
    if (frequency.note(clock.max)) out.add(kLimit, {gpu_.address, "0", "max"}, *clock.max);
    out.absent(kAverageFeature, no_averages_);
    out.absent(kThrottleFeature, {Reason::kernel});
  }

  const Directory& sys_;
  const Gpu& gpu_;
  PmuSession& pmu_;
  const Nanoseconds min_window_;
  ScanSchedule scans_;
  std::vector<GtSysfs> gts_;
  std::vector<Average> averages_;
  bool find_averages_ = false;  // the events have not been searched yet
  Absent no_averages_;
  std::uint64_t generation_ = 0;
  std::optional<WddmGpu> adapter_;  // under Windows, in place of the members above
};

}  // namespace

CollectorEntry frequency_collector() { return entry<FrequencyCollector>(); }

}  // namespace igpu
