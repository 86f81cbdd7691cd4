// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "sandbox/layer.h"

namespace igpu::exporter {

// Limits the system calls of all threads from now on (seccomp(2)): reading, counting, and responding on open sockets.
// seccomp_filter.cpp has the list with the reasons. All others fail with EPERM and are recorded in the kernel's audit
// log if it is enabled; running a program kills the process. Requires no_new_privs.
// receivers: the sockets on which descriptors arrive from other processes of the exporter: perf events, connections. No
// other one can receive descriptors.
LayerOutcome filter_calls_of_process(std::span<const int> receivers);

// The filter of the process that opens perf events: it talks over this socket, reads files and opens events, no more.
LayerOutcome filter_calls_of_event_opener(int socket);

// The filter of the process that connects to the receiver of a push: it resolves a name and connects. It sends and
// receives over any socket, but accepts no connection.
LayerOutcome filter_calls_of_connector();

// The filter of the process that writes flights: it talks over this socket, and makes, renames and removes files
// relative to this folder. Of other files it opens none for writing.
LayerOutcome filter_calls_of_flight_writer(int socket, int folder);

// Limits the calling thread, and those that it starts later, further, for threads that talk to others: only collectors
// receive perf events and query GPUs. own_receiver: of `receivers`, the one on which this thread receives descriptors.
// None of them can be closed or replaced by this thread. Call after filter_calls_of_process().
LayerOutcome filter_calls_of_clients(std::span<const int> receivers, std::optional<int> own_receiver = std::nullopt);

}  // namespace igpu::exporter
