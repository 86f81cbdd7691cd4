// SPDX-License-Identifier: Apache-2.0
#include "machine/job_counters.h"

namespace igpu {

Reading<const JobCounters*> JobCountersOnDemand::get(JobDriver driver, Nanoseconds now) {
  return slots_[static_cast<std::size_t>(driver)].get(now, [&] { return open_(driver, all_classes_); });
}

}  // namespace igpu
