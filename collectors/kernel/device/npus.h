// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/reading.h"
#include "machine/machine.h"

namespace igpu {

// An NPU (neural processing unit) of an Intel processor, bound to the driver intel_vpu (drivers/accel/ivpu).
struct NpuDevice {
  std::string address;   // PCI address as the kernel writes it: "0000:00:0b.0"
  std::string pci_path;  // relative to the sysfs root: "devices/pci0000:00/0000:00:0b.0"
  std::string accel;     // "accel0"; its node, /dev/accel/accel0, is never opened
  std::uint16_t device_id = 0;
  std::string name;           // "Lunar Lake NPU"; "" if unknown
  std::uint64_t binding = 0;  // changes when the driver is loaded again
};

inline constexpr std::string_view kNpuDriver = "intel_vpu";
inline constexpr std::size_t kMostNpus = 16;  // more than any machine has; bounds the page

// Below /sys/class/accel (drivers/accel/drm_accel.c), sorted by address; empty if there is none. Accelerators of other
// drivers are left out. known: what the last call found; such an NPU costs one readlink and one stat.
Reading<std::vector<NpuDevice>> find_npus(const Machine& machine, const std::vector<NpuDevice>& known);

}  // namespace igpu
