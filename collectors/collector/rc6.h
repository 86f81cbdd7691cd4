// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/counter_window.h"
#include "base/monotonic_counter.h"
#include "collector/collector.h"
#include "source/gt_sysfs.h"

namespace igpu {

// The power-saving state: RC6 of i915, C6 of xe. The i915 PMU where it may be used (nanoseconds, does not wake the GPU),
// otherwise sysfs milliseconds. Both advance only when somebody asks: the hardware's counter wraps after 91 minutes.
class Rc6Collector final : public Collector {
 public:
  static const CollectorInfo kInfo;
  static std::unique_ptr<Collector> create(const CollectorContext& context);
  explicit Rc6Collector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  enum class Source { none, pmu, sysfs };
  struct Gt {
    GtSysfs sysfs;
    std::optional<PmuSession::Handle> event;
    MonotonicCounter& total;  // nanoseconds
    CounterWindow<1> window;  // nanoseconds
    Source source = Source::none;
  };
  Reading<Unit> collect_gt(Gt& gt, ScrapePass& pass, SampleSink& out, bool pmu_counts);
  void collect_awake(SampleSink& out, const Reading<Unit>& pmu);

  const Gpu& gpu_;
  PmuSession& pmu_;
  std::vector<Gt> gts_;
  std::optional<PmuSession::Handle> awake_;
};

}  // namespace igpu
