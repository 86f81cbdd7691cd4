// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "igpu/monitor.h"
#include "igpu/reading.h"
#include "machine/machine.h"

namespace igpu {

// Access to the machine that is opened before the program drops rights, for make_machine_parts().
class EarlyAccess {
 public:
  std::unique_ptr<PerfEvents> perf;  // null: collectors open events themselves
  // As in Machine. What could not be opened is not tried again, so a failure is an absence from then on.
  template <class T>
  using Part = Reading<std::unique_ptr<T>>;
  Part<DeviceUsers> drm_users = Machine::kNoPart;
  Part<JobCounterSource> job_counters = Machine::kNoPart;
  Part<QueueFaultSource> queue_faults = Machine::kNoPart;
  Part<KernelMessages> uevents = Machine::kNoPart, output_uevents = Machine::kNoPart, kernel_log = Machine::kNoPart;

  void lend_to(Machine& machine) const;
};

// Opens the kernel log if no collector has done so.
void add_kernel_log(const MonitorOptions& options, EarlyAccess& early);

}  // namespace igpu
