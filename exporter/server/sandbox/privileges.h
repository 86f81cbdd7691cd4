// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "server/sandbox/layer.h"

namespace igpu::exporter {

// PR_SET_DUMPABLE 0 for the whole process: no core dump is written or piped to a handler, and users without
// CAP_SYS_PTRACE cannot read its memory. A core size limit of 0 is not enough: it does not apply to core_pattern pipes.
// The process itself can still read /proc/self.
LayerOutcome forbid_core_dumps();

// no_new_privs for the calling thread and those that it starts later: running a program never adds privileges.
LayerOutcome forbid_new_privileges();

// Where the calling thread, the only one, is root: it becomes the user that owns nothing, because root without any
// capability still owns root's files and sockets. Call before the capabilities are dropped. Not where it lacks
// CAP_SETUID and CAP_SETGID, as in some containers.
void become_nobody();

// Overwrites the environment of the process, which may hold passwords (http_proxy), but for settings of the resolver.
void wipe_environment();

// Makes an empty folder of sysfs the root of the process: no path leads to a file any more. What is open stays open,
// with what is below it. False: CAP_SYS_CHROOT is missing, or that is not sysfs.
bool leave_files(const std::string& sysfs);

}  // namespace igpu::exporter
