// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "igpu/monitor.h"
#include "igpu/reading.h"
#include "machine/device_users.h"
#include "machine/job_counters.h"
#include "machine/kernel_messages.h"
#include "machine/perf_events.h"
#include "machine/queue_faults.h"

namespace igpu {

// Access to the machine that is opened before the program drops rights, for make_machine_parts().
class EarlyAccess {
 public:
  std::unique_ptr<PerfEvents> perf;  // null: collectors open events themselves
  std::unique_ptr<DeviceUsers> drm_users;
  std::unique_ptr<JobCounterSource> job_counters;       // null: not wanted, or not a real machine
  std::unique_ptr<QueueFaultSource> queue_faults;       // null: why_no_queue_faults
  std::unique_ptr<KernelMessages> uevents, kernel_log;  // null: why_no_uevents, why_no_kernel_log
  std::unique_ptr<KernelMessages> output_uevents;       // null: why_no_output_uevents
  Absent why_no_uevents{Reason::hardware}, why_no_kernel_log{Reason::hardware}, why_no_queue_faults{Reason::hardware};
  Absent why_no_output_uevents{Reason::hardware};
  std::optional<Absent> why_no_drm_users;  // nullopt: not applicable (simulated machine, copied /proc)
};

// Opens the kernel log if no collector has done so.
void add_kernel_log(const MonitorOptions& options, EarlyAccess& early);

}  // namespace igpu
