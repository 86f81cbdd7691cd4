// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "igpu/monitor.h"
#include "igpu/reading.h"
#include "machine/device_users.h"
#include "machine/job_counters.h"

namespace igpu {

class EarlyAccess {
 public:
  std::unique_ptr<DeviceUsers> drm_users;
  std::unique_ptr<JobCounterSource> job_counters;  // null: not wanted, or not a real machine
  std::optional<Absent> why_no_drm_users;  // nothing: not a matter of this machine (simulated, or a copied /proc)
};

}  // namespace igpu
