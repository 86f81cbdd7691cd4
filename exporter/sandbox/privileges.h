// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sandbox/layer.h"

namespace igpu::exporter {

// No core dump of this process is ever written or piped to a collector, and users without CAP_SYS_PTRACE cannot read
// its memory: PR_SET_DUMPABLE 0. A core size limit of 0 alone would not do: it does not hold for core_pattern pipes.
// The whole process, at once. What /proc/self shows stays readable for the process itself.
LayerOutcome forbid_core_dumps();

// no_new_privs for the calling thread and those that it makes later: running a program can never add rights again.
LayerOutcome forbid_new_privileges();

}  // namespace igpu::exporter
