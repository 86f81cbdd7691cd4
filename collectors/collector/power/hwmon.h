// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/scan_schedule.h"
#include "collector/collector.h"
#include "kernel/sysfs/hwmon_files.h"
#include "kernel/windows/wddm.h"

namespace igpu {

// Temperatures, fans, voltages and limits: of the card itself, or the CPU package's temperature for an integrated GPU.
class HwmonCollector final : public Collector {
 public:
  static const CollectorInfo kInfo;
  explicit HwmonCollector(const CollectorContext& context);
  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  void collect_adapter(SampleSink& out);

  const Directory& sys_;
  const Gpu& gpu_;
  ScanSchedule scans_;
  Hwmon hwmon_;
  std::optional<WddmGpu> adapter_;  // under Windows, in place of the members above
};

}  // namespace igpu
