// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "igpu/units.h"
#include "kernel/sysfs/attribute.h"
#include "kernel/sysfs/runtime_pm.h"

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

}  // namespace igpu
