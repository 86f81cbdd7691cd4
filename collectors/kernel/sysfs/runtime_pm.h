// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "igpu/units.h"
#include "kernel/sysfs/attribute.h"
#include "machine/filesystem.h"

namespace igpu {

// Runtime power management of a PCI device: <pci>/power/ (Documentation/ABI/testing/sysfs-devices-power). Reading these
// files never wakes the device. power/control: whether the device may sleep at all ("auto"), or never does ("on").
Reading<bool> may_suspend(const Directory& sys, std::string_view pci_path);
// <pci>/d3cold_allowed: whether it may lose its power while it sleeps.
Reading<bool> d3cold_allowed(const Directory& sys, std::string_view pci_path);

class RuntimePm {
 public:
  RuntimePm(const Directory& sys, std::string_view pci_path);
  // runtime_status: suspended or suspending; do not read anything that resumes the device. Absent: the device reports
  // no status. Failure: the text is not a status.
  Reading<bool> suspended();
  // runtime_usage: how many users keep the device awake now. Absent on kernels without CONFIG_PM_ADVANCED_DEBUG.
  Reading<std::uint64_t> users();
  // autosuspend_delay_ms: how long the device stays awake after its last use; 0 if it does not suspend by itself.
  Nanoseconds autosuspend_delay();

 private:
  std::string path_;
  Reading<std::unique_ptr<File>> status_;
  Attribute usage_;
  Attribute delay_;
};

}  // namespace igpu
