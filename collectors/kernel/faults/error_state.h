// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "igpu/device.h"
#include "machine/filesystem.h"

// Whether the kernel holds a captured GPU hang. i915: <card>/error, readable by root only, has the text "No error state
// collected" if there is none (i915_sysfs.c); xe: a device core dump exists, which every user can see
// (<pci>/devcoredump, /sys/class/devcoredump).
namespace igpu {

class ErrorState {
 public:
  ErrorState(const Directory& sys, const Gpu& gpu);
  Reading<bool> captured();

 private:
  Reading<bool> core_dump_exists();

  const Directory& sys_;
  Driver driver_;
  std::string pci_path_;
  std::string error_file_;
  std::unique_ptr<File> file_;
};

}  // namespace igpu
