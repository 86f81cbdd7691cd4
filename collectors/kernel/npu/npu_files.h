// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/scan_schedule.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "kernel/sysfs/attribute.h"
#include "kernel/sysfs/pci_files.h"
#include "machine/filesystem.h"

namespace igpu {

// What the driver intel_vpu reports about an NPU in the folder of its PCI device (drivers/accel/ivpu/ivpu_sysfs.c,
// clocks: ivpu_hw_btrs.c; Documentation/ABI/testing/sysfs-driver-intel_vpu). All files are world-readable, and reading
// them never resumes a sleeping NPU: the driver itself counts busy time and memory, and reads the present clock from
// the hardware only while it is active (pm_runtime_get_if_active).
class NpuFiles {
 public:
  NpuFiles(const Directory& sys, const std::string& pci_path);

  // npu_busy_time_us (Linux 6.11): microseconds with at least one job submitted, so waiting counts. Restarts at zero
  // when the driver is reloaded. Read it at most once a second: it takes a lock that submissions need.
  Reading<std::uint64_t> busy_microseconds() { return busy_.number(); }
  // npu_memory_utilization (Linux 6.15): bytes (despite the name) of the resident buffers. The first kernels with this
  // file count all buffers.
  Reading<Bytes> resident_memory();
  // freq/current_freq, before that npu_current_frequency_mhz (Linux 6.16); 0 while the NPU idles.
  Reading<Hertz> current_frequency() { return first_of(current_, old_current_); }
  // freq/hw_max_freq, before that npu_max_frequency_mhz (Linux 6.16).
  Reading<Hertz> highest_frequency() { return first_of(highest_, old_highest_); }
  Reading<bool> suspended() { return power_.suspended(); }

 private:
  static Reading<Hertz> first_of(Attribute& first, Attribute& second);

  Attribute busy_, memory_, current_, old_current_, highest_, old_highest_;
  RuntimePm power_;
};

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
