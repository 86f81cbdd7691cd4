// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/counter_window.h"
#include "base/monotonic_counter.h"
#include "base/scan_schedule.h"
#include "collector/collector.h"
#include "kernel/sysfs/gt_sysfs.h"
#include "metric/feature_report.h"

namespace igpu {

// The power-saving state: RC6 of i915, C6 of xe. Read from the i915 PMU if permitted (nanoseconds, does not wake the
// GPU), otherwise from sysfs (milliseconds). Both advance only when they are read: the hardware's counter wraps after
// 91 minutes, on Gen9LP after 59. Awake time is reported for the root GT only: the events of other GTs are listed, but
// count the root GT's time (i915_pmu.c, __i915_pmu_event_read()).
class Rc6Collector final : public Collector {
 public:
  static const CollectorInfo kInfo;
  explicit Rc6Collector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;
  void gpu_is_suspended() override;
  Nanoseconds read_within() const override;

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
  void want_events();
  void look_for_files();
  Gt& gt(std::string_view id);
  Reading<Count> read(Gt& gt, ScrapePass& pass, const Reading<Unit>& pmu);
  void write(Gt& gt, const Count& count, SampleSink& out);
  void collect_awake(SampleSink& out, const Reading<Unit>& pmu);

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

}  // namespace igpu
