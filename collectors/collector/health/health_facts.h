// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Facts that the collector health reports.
namespace igpu {

// Event: a process caused a hang.
struct ProcessHang {
  std::string device;  // PCI address
  std::string_view kind;
  std::uint32_t pid = 0;
};

// Event: the kernel reported a fault of a device that is no GPU.
struct DeviceFault {
  enum class Sign { reset, dump };  // a uevent of the driver; a device core dump
  Sign sign = Sign::reset;
  std::string device;  // PCI address
};

// Of the machine: the channels through which the kernel can report such faults.
struct FaultChannels {
  bool has_events = false, has_dumps = false;
};

}  // namespace igpu
