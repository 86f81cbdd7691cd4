// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "machine/job_counters.h"

// In a build without BPF (-DIGPU_BPF=OFF).
namespace igpu {

Reading<std::unique_ptr<JobCounters>> open_job_counters(JobDriver, bool) { return Absent{Reason::disabled, ENOSYS}; }

}  // namespace igpu
