// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sandbox/layer.h"
#include "service/descriptor.h"

// Landlock (Documentation/userspace-api/landlock.rst): the kernel refuses every file outside the folders that are
// named, whoever asks.
namespace igpu::exporter {

struct FileAccess {
  std::vector<std::string> readable;  // folders with all below them, or single files; what does not exist is left out
  std::vector<std::string> listable;  // folders whose names may be listed, with all below them
  std::vector<std::string> devices;   // readable, and device ioctls are allowed on what is there
};

// The highest interface version that the kernel offers; 0 if it has none, with the reason in errno: ENOSYS (not
// built in), EOPNOTSUPP (built in, not turned on).
int landlock_version();

// The calling thread and those that it makes later may read what is named. Nobody may write, create, remove or run
// anything; from version 4 on no TCP port can be bound or connected to; from 6 on no abstract UNIX socket of others.
// It needs no_new_privs. A thread in here cannot look into processes outside (the kernel's ptrace rule): what is read
// of /proc/<pid>/fdinfo must be read by threads that were made before.
// held: gets descriptors of what is named below /proc, to be kept open. Rules are for inodes, and those of /proc are
// made again, without the rule, once nobody has them any more. /proc/self is the process that calls.
LayerOutcome confine_files(const FileAccess& access, std::vector<Descriptor>& held);

// The folders that a file is found in: that of its name, and that of what its name leads to.
std::vector<std::string> folders_of(const std::string& file);

}  // namespace igpu::exporter
