// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <string_view>

#include "base/counter_window.h"
#include "base/monotonic_counter.h"
#include "collector/power.h"
#include "source/sysman_gpu.h"

namespace igpu {

// PowerCollector's metrics under Windows, from Sysman's energy counters. A counter that has never counted is left out.
class WddmPower final : public Collector {
 public:
  explicit WddmPower(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  struct Domain {
    std::string_view name;
    MonotonicCounter& microjoules;
    CounterWindow<1> window;
    bool has_counted = false;
  };
  Domain& domain(std::string_view name);

  const Gpu& gpu_;
  CounterMemory& memory_;
  const Nanoseconds min_window_;
  SysmanGpu sysman_;
  std::list<Domain> domains_;
};

}  // namespace igpu
