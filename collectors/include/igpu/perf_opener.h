// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "igpu/monitor.h"

// For a program that opens perf events in another process, so that the process with the monitor needs neither the
// privilege nor the system call. The two share a socket pair (SOCK_SEQPACKET).
namespace igpu {

// For the other process: what opens perf events on request until the other end of the socket is closed, and only those
// of PMUs that collectors read. sysfs_root is opened at once: the process may have another root folder afterwards.
// Throws std::system_error if it is not a directory.
std::function<void(int socket)> perf_opener(const std::string& sysfs_root);

// As open_early(options), for a monitor that requests its perf events over this socket, which must stay open.
std::shared_ptr<EarlyAccess> open_early(const MonitorOptions& options, int perf_opener);

}  // namespace igpu
