// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sandbox/layer.h"

namespace igpu::exporter {

// PR_SET_DUMPABLE 0 for the whole process: no core dump is written or piped to a handler, and users without
// CAP_SYS_PTRACE cannot read its memory. A core size limit of 0 is not enough: it does not apply to core_pattern pipes.
// The process itself can still read /proc/self.
LayerOutcome forbid_core_dumps();

// no_new_privs for the calling thread and those that it starts later: running a program never adds privileges.
LayerOutcome forbid_new_privileges();

}  // namespace igpu::exporter
