// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "igpu/capture.h"
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

// A machine and the objects that it refers to.
class MachineParts {
 public:
  virtual ~MachineParts() = default;
  virtual Machine& machine() = 0;
  // Called before each scrape that runs a collector, but not before the first reading of the counters.
  virtual void scrape_begins() {}
};

// The real machine, or the simulated one named by the options. Throws OptionError.
// early: access that was opened before rights were dropped; null: opened now.
std::shared_ptr<MachineParts> make_machine_parts(const MonitorOptions& options, std::shared_ptr<EarlyAccess> early);

// The machine that a capture describes. Throws CaptureError.
std::shared_ptr<MachineParts> capture_parts(const CaptureFiles& files);

// A monitor over any machine, for tests and the simulation. Ignores the roots and `simulate` in options.
std::unique_ptr<Monitor> make_monitor(std::shared_ptr<MachineParts> parts, const MonitorOptions& options, Log& log);

// The number of callers that wait for a run to begin.
std::size_t waiting_for_run(const Monitor& monitor);

// Like take_capture(), for any machine. wait: called between two passes, to let time pass.
CaptureOutcome capture_of(std::shared_ptr<MachineParts> machine, const MonitorOptions& options,
                          const CaptureRequest& request, const std::function<void()>& wait, Log& log);

}  // namespace igpu
