// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "igpu/monitor.h"
#include "machine/machine.h"

namespace igpu {

// A machine and the objects that it refers to.
class MachineParts {
 public:
  virtual ~MachineParts() = default;
  virtual Machine& machine() = 0;
  // Called before each scrape that runs a collector, but not before the first reading of the counters.
  virtual void scrape_begins() {}
};

// A monitor over any machine, for tests and the simulation. Ignores the roots and `simulate` in options.
std::unique_ptr<Monitor> make_monitor(std::shared_ptr<MachineParts> parts, const MonitorOptions& options, Log& log);

// The number of callers that wait for a run to begin.
std::size_t waiting_for_run(const Monitor& monitor);

}  // namespace igpu
