// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sandbox/layer.h"

namespace igpu::exporter {

// Limits the system calls of all threads from now on (seccomp(2)): reading, counting, and responding on open sockets.
// seccomp_filter.cpp has the list with the reasons. All others fail with EPERM and are recorded in the kernel's audit
// log if it is enabled; running a program kills the process. Requires no_new_privs.
LayerOutcome filter_calls_of_process();

// Limits the calling thread, and those that it starts later, further, for threads that serve clients: only collectors
// open perf events and query GPUs. Call after filter_calls_of_process().
LayerOutcome filter_calls_of_clients();

}  // namespace igpu::exporter
