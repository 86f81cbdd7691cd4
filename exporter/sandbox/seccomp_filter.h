// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sandbox/layer.h"

namespace igpu::exporter {

// Limits the system calls of all threads from now on (seccomp(2)): reading, counting, and responding on open sockets.
// seccomp_filter.cpp has the list with the reasons. All others fail with EPERM and are recorded in the kernel's audit
// log if it is enabled; running a program kills the process. Requires no_new_privs.
// event_opener: the socket on which descriptors of perf events arrive. It alone can receive descriptors; it can neither
// be closed nor replaced.
LayerOutcome filter_calls_of_process(std::optional<int> event_opener);

// The filter of the process that opens perf events: it talks over this socket, reads files and opens events, no more.
LayerOutcome filter_calls_of_event_opener(int socket);

// Limits the calling thread, and those that it starts later, further, for threads that serve clients: only collectors
// receive perf events and query GPUs. Call after filter_calls_of_process().
LayerOutcome filter_calls_of_clients();

}  // namespace igpu::exporter
