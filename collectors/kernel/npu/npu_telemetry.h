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

// Energy and temperature of the NPU in the processor's telemetry (Platform Monitoring Technology;
// drivers/platform/x86/intel/pmt/telemetry.c): /sys/class/intel_pmt/telem<n>/telem, readable by root only. The file
// `guid` identifies its layout. Only layouts that Intel has published are read: those of Meteor Lake, Arrow Lake, Lunar
// Lake and Panther Lake, as in intel-npu-smi (linux-npu-driver) and npu-monitor (edge-ai-libraries, npu_monitor.py).
// Reading does not wake the NPU: the memory belongs to another device.
class NpuTelemetry {
 public:
  static constexpr double kEnergyUnit = 1.0 / (1 << 14);  // joules; the value is a fixed-point number U32.18.14
  static constexpr std::uint64_t kEnergyRange = std::uint64_t{1} << 32;  // the count wraps around here

  explicit NpuTelemetry(const Directory& sys) : sys_(sys) {}

  struct Values {
    std::uint64_t energy = 0;  // in kEnergyUnit, below kEnergyRange
    Celsius temperature;
  };
  // Absent{hardware}: no region has a known layout.
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
