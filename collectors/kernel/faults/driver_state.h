// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "igpu/device.h"
#include "igpu/reading.h"
#include "machine/drm_node.h"
#include "machine/filesystem.h"

namespace igpu {

// Whether the kernel holds a captured GPU hang. i915: <card>/error, readable by root only, has the text "No error state
// collected" if there is none (i915_sysfs.c); xe: a device core dump exists, which every user can see
// (<pci>/devcoredump, /sys/class/devcoredump).
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
// card can enter it at run time. True
// if the mode's file exists: every user can see that, while only root can read the file. Does not resume the GPU.
Reading<bool> in_survivability_mode(const Directory& sys, std::string_view pci_path);

// Asks the driver whether it has given the GPU up: i915 answers DRM_IOCTL_I915_GEM_THROTTLE with EIO
// (i915_gem_throttle.c), xe every call with ECANCELED (xe_device.c). xe also does so for a short time while it recovers
// from a PCIe error. The call resumes a sleeping GPU: use it only on one that is awake.
class WedgedProbe {
 public:
  WedgedProbe(DrmNodes& nodes, const Gpu& gpu) : nodes_(nodes), driver_(gpu.driver), name_(gpu.render_node) {}
  Reading<bool> is_wedged();
  // Call when the GPU has gone: an open node would pin its driver's module.
  void close() { node_.reset(); }

 private:
  Reading<Unit> call();

  DrmNodes& nodes_;
  const Driver driver_;
  const std::string name_;
  std::unique_ptr<DrmNode> node_;  // kept open while it works
};

}  // namespace igpu
