// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "igpu/monitor.h"
#include "machine/machine.h"

namespace igpu {

// A machine and what it is made of.
class MachineParts {
 public:
  virtual ~MachineParts() = default;
  virtual Machine& machine() = 0;
  // Before each scrape that runs a collector; the first state of the counters is read before all of them.
  virtual void scrape_begins() {}
};

// A monitor over any machine; for tests and the simulation. The roots and simulate in options are ignored.
std::unique_ptr<Monitor> make_monitor(std::shared_ptr<MachineParts> parts, const MonitorOptions& options, Log& log);

// Scrapes that wait for a run to begin.
std::size_t waiting_for_run(const Monitor& monitor);

}  // namespace igpu
