// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "machine/filesystem.h"

// PCIe errors as the kernel counts them since it found the device: aer_dev_correctable, aer_dev_nonfatal and
// aer_dev_fatal (drivers/pci/pcie/aer.c, Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats). They exist if the
// function has the AER capability and the kernel, not the firmware, handles errors. Reading them resumes no device: the
// counts are in the kernel's memory.
namespace igpu {

struct AerCount {
  std::string type;  // the kernel's name: "BadTLP"; long names with spaces before Linux 5.0
  std::uint64_t count;
};

// The lines "NAME COUNT" of one file. The total in the last line is not kept: it may differ from the sum. Lines of any
// other form are skipped: kernels before 5.19 print some.
std::vector<AerCount> parse_aer_counts(std::string_view text);

struct AerFile {
  std::string_view severity;  // value of the label severity
  std::string_view file;
};
inline constexpr std::array<AerFile, 3> kAerFiles{
    {{"correctable", "aer_dev_correctable"}, {"nonfatal", "aer_dev_nonfatal"}, {"fatal", "aer_dev_fatal"}}};

Reading<std::vector<AerCount>> read_aer_counts(const Directory& sys, std::string_view function, const AerFile& file);

// The functions between a GPU and its root port. Errors of an Arc card's slot are counted by the upstream port of the
// card's own switch and by the root port, hardly ever by the GPU.
struct PciePort {
  std::string_view port;  // endpoint, switch_downstream, switch_upstream, root
  std::string path;
};
// From the GPU to the root port. Only the GPU if no bridge is visible, as in a virtual machine.
std::vector<PciePort> pcie_ports(std::string_view pci_path);

}  // namespace igpu
