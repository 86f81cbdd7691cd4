// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "igpu/monitor.h"
#include "igpu/reading.h"
#include "machine/device_users.h"
#include "machine/job_counters.h"
#include "machine/perf_events.h"

namespace igpu {

class EarlyAccess {
 public:
  std::unique_ptr<PerfEvents> perf;  // null: the monitor opens events itself
  std::unique_ptr<DeviceUsers> drm_users;
  std::unique_ptr<JobCounterSource> job_counters;  // null: not wanted, or not a real machine
  std::optional<Absent> why_no_drm_users;          // nullopt: not applicable (simulated machine, copied /proc)
};

}  // namespace igpu
