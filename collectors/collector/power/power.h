// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "base/counter_window.h"
#include "base/scan_schedule.h"
#include "collector/collector.h"
#include "kernel/pmu/energy_sources.h"

namespace igpu {

// Energy and power of the GPU and its package. A counter that has never counted is left out until it counts.
class PowerCollector final : public Collector {
 public:
  static constexpr CounterMetric<Joules, 3> kEnergy{"intel_gpu_energy_joules_total",
                                                    "Energy used. Integrated GPU: RAPL domains (package and psys "
                                                    "include gpu: do not add them up). Card: card and package.",
                                                    {"device", "domain", "source"}};
  static constexpr GaugeMetric<Watts, 3> kPower{
      "intel_gpu_power_watts", "Mean power over the window.", {"device", "domain", "source"}};
  static constexpr std::array<KernelAbsence, 2> kNoPower{{
      {Driver::i915, GpuKind::discrete, "this kernel's i915 driver has no energy counter of the card in hwmon",
       "Linux 6.2 or newer, with CONFIG_HWMON"},
      {Driver::xe, GpuKind::discrete, "this kernel's xe driver has no energy counter of the card in hwmon",
       "Linux 6.8 or newer, with CONFIG_HWMON"},
  }};
  static const CollectorInfo kInfo;
  explicit PowerCollector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;
  Nanoseconds read_within() const override;

 private:
  const Gpu& gpu_;
  const Nanoseconds min_window_;
  ScanSchedule scans_;
  EnergySources sources_;
  std::vector<CounterWindow<1>> windows_;  // by EnergySources::domains()
};

}  // namespace igpu
