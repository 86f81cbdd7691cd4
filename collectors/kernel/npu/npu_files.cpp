// SPDX-License-Identifier: Apache-2.0
#include "kernel/npu/npu_files.h"

namespace igpu {

NpuFiles::NpuFiles(const Directory& sys, const std::string& pci_path)
    : busy_(sys, pci_path + "/npu_busy_time_us"),
      memory_(sys, pci_path + "/npu_memory_utilization"),
      current_(sys, pci_path + "/freq/current_freq"),
      old_current_(sys, pci_path + "/npu_current_frequency_mhz"),
      highest_(sys, pci_path + "/freq/hw_max_freq"),
      old_highest_(sys, pci_path + "/npu_max_frequency_mhz"),
      power_(sys, pci_path) {}

Reading<Bytes> NpuFiles::resident_memory() {
  return memory_.number().map([](std::uint64_t bytes) { return Bytes{static_cast<double>(bytes)}; });
}

Reading<Hertz> NpuFiles::first_of(Attribute& first, Attribute& second) {
  constexpr double kMegahertz = 1e6;
  auto read = first.number();
  if (read.is_absent()) read = second.number();
  return read.map([](std::uint64_t megahertz) { return Hertz{static_cast<double>(megahertz) * kMegahertz}; });
}

}  // namespace igpu
