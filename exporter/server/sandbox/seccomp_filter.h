// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "platform/sandbox_layers.h"

namespace igpu::exporter {

// Limits the system calls of all threads from now on (seccomp(2)): reading, counting, and responding on open sockets.
// seccomp_filter.cpp has the list with the reasons. All others fail with EPERM and are recorded in the kernel's audit
// log if it is enabled; running a program kills the process. Requires no_new_privs.
// receivers: the sockets on which descriptors, perf events, arrive from another process of the exporter. No other one
// can receive descriptors.
LayerOutcome filter_calls_of_process(std::span<const int> receivers);

// The filter of the process that opens perf events: it talks over this socket, reads files and opens events, no more.
LayerOutcome filter_calls_of_event_opener(int socket);

// The filter of the process that talks to the receiver of a push: TCP, and reading files. It connects, and neither
// listens nor accepts.
LayerOutcome filter_calls_of_push_client();

// The filter of the process that resolves the receiver's name: UDP as well. asks_avahi: also UNIX sockets, over which
// names of mDNS are resolved.
LayerOutcome filter_calls_of_resolver(bool asks_avahi);

// The filter of the process that writes flights: it talks over this socket, and makes, renames and removes files
// relative to this folder. Of other files it opens none for writing.
LayerOutcome filter_calls_of_flight_writer(int socket, int folder);

// Limits the calling thread, and those that it starts later, further, for threads that talk to others: only collectors
// receive perf events and query GPUs. None of `receivers` can be closed or replaced by this thread. Call after
// filter_calls_of_process().
LayerOutcome filter_calls_of_clients(std::span<const int> receivers);

// The only ioctls of a render node that the filter allows: none submits work to the GPU. The first three are queries;
// the last waits for the caller's own work, of which there is none, and so tells whether the GPU is wedged. The numbers
// are written again here, so that a new query in the library (kernel/device/drm_uapi.h) does not widen the filter
// unnoticed; a test compares them.
inline constexpr unsigned long kI915Query = 0xc0106479;
inline constexpr unsigned long kI915Getparam = 0xc0106446;
inline constexpr unsigned long kXeDeviceQuery = 0xc0286440;
inline constexpr unsigned long kI915Throttle = 0x6458;

}  // namespace igpu::exporter
