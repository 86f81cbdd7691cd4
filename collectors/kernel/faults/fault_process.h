// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/faults/fault_text.h"
#include "machine/filesystem.h"

namespace igpu {

// The process of a thread that the kernel log names. Returns the log's id and name unchanged if the thread has ended,
// if /proc does not show it, or if the id belongs to a thread of another name now.
FaultProcess process_of_thread(const Directory& proc, const FaultProcess& thread);

}  // namespace igpu
