// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "igpu/reading.h"

// An open /dev/dri/renderD*: DRM ioctls that need neither DRM auth nor master.
namespace igpu {

class DrmNode {
 public:
  virtual ~DrmNode() = default;
  // ioctl(2), EINTR and EAGAIN retried as libdrm does. The structs are those of uapi drm/*.h.
  virtual Reading<Unit> ioctl(unsigned long request, void* argument) = 0;
};

class DrmNodes {
 public:
  virtual ~DrmNodes() = default;
  // name: "renderD128". EACCES (not in group render) is Absent{permission}.
  virtual Reading<std::unique_ptr<DrmNode>> open(std::string_view name) = 0;
};

// Nodes below <dev root>/dri.
std::unique_ptr<DrmNodes> system_drm_nodes(std::string_view dev_root);

}  // namespace igpu
