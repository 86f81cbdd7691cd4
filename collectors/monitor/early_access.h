// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "igpu/monitor.h"
#include "igpu/reading.h"
#include "machine/device_users.h"

namespace igpu {

class EarlyAccess {
 public:
  explicit EarlyAccess(Reading<std::unique_ptr<DeviceUsers>> users) : drm_users(std::move(users)) {}
  Reading<std::unique_ptr<DeviceUsers>> drm_users;
};

}  // namespace igpu
