// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

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

// The mode in which xe holds a card whose firmware failed, so that it can be flashed (xe_survivability_mode.c;
// Battlemage and later cards, from Linux 6.15). A card that enters it at boot has no DRM node; from Linux 6.19 on a
// card can enter it at run time.

// Whether the mode's file exists. Every user can see that, while only root can read the file. Does not resume the GPU.
Reading<bool> in_survivability_mode(const Directory& sys, std::string_view pci_path);

}  // namespace igpu
