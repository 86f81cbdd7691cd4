// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/scan_schedule.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/filesystem.h"

namespace igpu {

// What the processor's telemetry (Platform Monitoring Technology; drivers/platform/x86/intel/pmt/telemetry.c) says of
// its NPU: /sys/class/intel_pmt/telem<n>/telem, readable by root only, whose layout its `guid` names. Only layouts that
// Intel has published are read: those of intel-npu-smi (linux-npu-driver) as its npu-monitor (edge-ai-libraries,
// npu_monitor.py) repeats them, of Meteor Lake, Arrow Lake, Lunar Lake and Panther Lake. Nothing wakes the NPU: the
// memory that is read belongs to another device.
class NpuTelemetry {
 public:
  static constexpr double kEnergyUnit = 1.0 / (1 << 14);                 // joules: U32.18.14
  static constexpr std::uint64_t kEnergyRange = std::uint64_t{1} << 32;  // where the count wraps

  explicit NpuTelemetry(const Directory& sys) : sys_(sys) {}

  struct Values {
    std::uint64_t energy = 0;  // in kEnergyUnit, below kEnergyRange
    Celsius temperature;
  };
  // Absent{hardware}: there is no region of a known layout.
  Reading<Values> read();

 private:
  struct Layout {
    std::size_t energy = 0, temperatures = 0;  // bytes from the start of the region
  };
  void find();
  static Layout layout_of(std::uint64_t guid);

  const Directory& sys_;
  ScanSchedule schedule_;
  std::string path_;  // "" unless a region was found
  Layout layout_;
};

}  // namespace igpu
