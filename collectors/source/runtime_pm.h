// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "machine/filesystem.h"

namespace igpu {

// Runtime power management of a PCI device: <pci>/power/runtime_status (Documentation/ABI/testing/sysfs-devices-power).
// Reading it never wakes the device.
class RuntimePm {
 public:
  RuntimePm(const Directory& sys, std::string_view pci_path);
  // Asleep or on its way there: nothing that resumes the device may be read. Absent: the device tells no status.
  Reading<bool> suspended();

 private:
  Reading<std::unique_ptr<File>> status_;
};

}  // namespace igpu
