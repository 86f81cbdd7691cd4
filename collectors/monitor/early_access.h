// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "igpu/monitor.h"
#include "igpu/reading.h"
#include "machine/device_users.h"

namespace igpu {

class EarlyAccess {
 public:
  std::unique_ptr<DeviceUsers> drm_users;
  std::optional<Absent> why_no_drm_users;  // nothing: not a matter of this machine (simulated, or a copied /proc)
};

}  // namespace igpu
