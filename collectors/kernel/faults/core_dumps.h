// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/filesystem.h"

namespace igpu {

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
