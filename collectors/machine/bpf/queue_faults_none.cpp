// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "machine/queue_faults.h"

// In a build without BPF (-DIGPU_BPF=OFF).
namespace igpu {

Reading<std::unique_ptr<QueueFaults>> open_queue_faults() { return Absent{Reason::disabled, ENOSYS}; }

}  // namespace igpu
