// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "igpu/reading.h"
#include "machine/machine.h"
#include "source/clients.h"

// Finds the DRM clients of a machine in one walk over /proc/<pid>/fdinfo (fs/proc/fd.c), every file once.
//
// Permissions: fdinfo of other users' processes needs ptrace read access (CAP_SYS_PTRACE), nothing else;
// /proc/<pid>/fd would need CAP_DAC_READ_SEARCH as well and is optional, see below.
//
// Sleeping devices: reading the fdinfo of an xe client resumes its GPU, and nothing inside the file can be known
// without reading it. While an xe GPU sleeps a file is therefore read only if it is known to belong to another Intel
// GPU: the link /proc/<pid>/fd/<fd> leads to a node of it (if the link may be read), or the same descriptor of the same
// process (identified by its start time) showed it in an earlier walk. All others are skipped, and counted if their
// owner is unknown: a new client of an awake GPU next to a sleeping xe GPU is detected only with CAP_DAC_READ_SEARCH,
// or when that GPU wakes. Reading the fdinfo of an i915 client touches memory only.
namespace igpu {

// Walks /proc and collects every DRM client of i915 and xe, deduplicated, with the facts of the processes that hold
// one. The exporter's own process is skipped: it opens nodes only to measure. One thread at a time.
class ClientWalk {
 public:
  struct Limits {
    // Checked between files. A walk that reaches it ends as incomplete, and the next one begins where it ended.
    Nanoseconds time{std::chrono::seconds(2)};
  };
  ClientWalk(Machine& machine, Limits limits);
  ~ClientWalk();

  // asleep: PCI addresses of suspended GPUs; their clients are skipped. Absent or Failure only if /proc itself cannot
  // be listed; what happens to single processes (gone, denied) is counted in the snapshot.
  Reading<ClientSnapshot> walk(std::span<const std::string> asleep);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu
