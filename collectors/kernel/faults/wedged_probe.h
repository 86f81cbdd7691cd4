// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "igpu/device.h"
#include "igpu/reading.h"
#include "machine/drm_node.h"

namespace igpu {

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
