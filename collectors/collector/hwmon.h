// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/scan_schedule.h"
#include "collector/collector.h"
#include "metric/feature_report.h"
#include "source/hwmon_files.h"
#include "source/sysman_gpu.h"
#include "source/wddm.h"

namespace igpu {

// Temperatures, fans, voltages and limits: of the card itself, or the CPU package's temperature for an integrated GPU.
class HwmonCollector final : public Collector {
 public:
  static const CollectorInfo kInfo;
  explicit HwmonCollector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  void collect_adapter(SampleSink& out);
  void collect_sysman(bool has_temperature, FeatureReport& temperature, bool has_fan, FeatureReport& fan);

  const Directory& sys_;
  const Gpu& gpu_;
  ScanSchedule scans_;
  Hwmon hwmon_;
  std::optional<WddmGpu> adapter_;   // under Windows, in place of the members above
  std::optional<SysmanGpu> sysman_;  // under Windows, with --collector.sysman
};

}  // namespace igpu
