// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/reading.h"
#include "igpu/units.h"
#include "kernel/faults/fault_text.h"
#include "machine/filesystem.h"

namespace igpu {

// PCIe errors as the kernel counts them since it found the device: aer_dev_correctable, aer_dev_nonfatal and
// aer_dev_fatal (drivers/pci/pcie/aer.c, Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats). They exist if the
// function has the AER capability and the kernel, not the firmware, handles errors. Reading them resumes no device: the
// counts are in the kernel's memory.
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

// The process of a thread that the kernel log names. Returns the log's id and name unchanged if the thread has ended,
// if /proc does not show it, or if the id belongs to a thread of another name now.
FaultProcess process_of_thread(const Directory& proc, const FaultProcess& thread);

struct CoreDump {
  std::string pci_path;  // of the device that failed: "devices/pci0000:00/.../0000:03:00.0"
  // Since 1970: when a program such as udev first examined the dump, soon after it was made; the kernel itself records
  // no time. Zero: unknown.
  Nanoseconds modified{};
  std::string content;  // path of the file, which only root can read; writing to it deletes the dump
};

// Device core dumps (drivers/base/devcoredump.c): /sys/class/devcoredump/devcd<n>, of all drivers, numbered from boot
// on. Only folders and links are read.
class CoreDumps {
 public:
  explicit CoreDumps(const Directory& sys) : sys_(sys) {}

  // The dumps that were made since the last call; at the first call, all that exist. Absent{disabled, EPERM}: turned
  // off until the next boot. Absent{kernel}: built without CONFIG_DEV_COREDUMP.
  Reading<std::vector<CoreDump>> new_dumps();

 private:
  const Directory& sys_;
  std::optional<std::uint64_t> highest_;
  std::vector<std::uint64_t> unlinked_;  // found without a device: the kernel adds a dump first, and links it then
};

}  // namespace igpu
