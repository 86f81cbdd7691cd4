// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/filesystem.h"
#include "source/fault_text.h"

namespace igpu {

// The process of a thread that the kernel log names, with its own name. As the log has it if the thread has ended, if
// /proc does not show it, or if its id belongs to another thread now, whose name is not that of the log.
FaultProcess process_of_thread(const Directory& proc, const FaultProcess& thread);

}  // namespace igpu
