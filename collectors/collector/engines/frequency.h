// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/counter_window.h"
#include "base/scan_schedule.h"
#include "collector/collector.h"
#include "kernel/sysfs/gt_sysfs.h"
#include "kernel/windows/wddm.h"

namespace igpu {

// Frequencies, their limits, and the reasons that limit them now. Present values come from sysfs on both drivers, means
// over the window from integrals of the i915 PMU. (The frequency events of xe are not counters: each read adds a
// sample.)
class FrequencyCollector final : public Collector {
 public:
  static const CollectorInfo kInfo;
  explicit FrequencyCollector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  // One integral of the PMU, in MHz times seconds.
  struct Average {
    std::string gt;
    std::string_view kind;
    PmuSession::Handle handle;
    CounterWindow<1> window;
  };
  void find_averages();
  void collect_averages(ScrapePass& pass, SampleSink& out);
  void collect_adapter(SampleSink& out);

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

}  // namespace igpu
