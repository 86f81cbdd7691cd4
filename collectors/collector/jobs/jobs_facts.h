// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "machine/driver_events.h"

namespace igpu {

// Fact that the collector jobs reports, for each GPU whose jobs the kernel counts. GPUs of one driver share the
// counters, which live as long as the machine.
struct CountedJobs {
  const JobCounters* counters = nullptr;
};
using CountedJobsByDevice = std::map<std::string, CountedJobs>;  // FactBoard::by_device()

}  // namespace igpu
