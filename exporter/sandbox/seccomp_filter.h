// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sandbox/layer.h"

namespace igpu::exporter {

// What the program may ask of the kernel from now on, in all its threads and for good (seccomp(2)): reading, counting,
// answering on sockets that are there. seccomp_filter.cpp holds the list and the reasons. Everything else is answered
// EPERM, and noted in the kernel's audit log where that is on; running a program ends the process. It needs
// no_new_privs.
LayerOutcome filter_system_calls();

// What the calling thread, and those that it makes later, may not ask either: clients talk to them, and only collectors
// open perf events and ask GPUs. After filter_system_calls().
LayerOutcome filter_calls_of_clients();

}  // namespace igpu::exporter
