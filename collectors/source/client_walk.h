// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "igpu/reading.h"
#include "machine/machine.h"
#include "source/client_finder.h"
#include "source/client_scan.h"
#include "source/drm_openers.h"

// Finds the DRM clients of a machine in /proc/<pid>/fdinfo (fs/proc/fd.c).
//
// Permissions: fdinfo of other users' processes needs ptrace read access (CAP_SYS_PTRACE), nothing else;
// /proc/<pid>/fd would need CAP_DAC_READ_SEARCH as well and is optional, see below.
//
// What is remembered: a process is listed descriptor by descriptor (scanned) at its first two walks. After that only
// the descriptors that showed a client are read, until
//   - the number of its descriptors changes: the size of /proc/<pid>/fd, which kernels before 6.2 do not report. There
//     its descriptors are listed, which costs less than reading what they are, and their numbers are compared;
//   - one of its known descriptors is closed or shows no client any more: then every one of the next kMostWalks walks
//     scans it, because the kernel may only have failed to show the client;
//   - /proc/<pid>/fd is another inode: another process, or the kernel has dropped the inode from its cache;
//   - DRM's debugfs, where it may be read, shows another number of files that the process opened (drm_openers.h);
//   - it was last scanned kMostWalks walks ago: every walk scans that share of the processes, the oldest scan first.
// So a process that opens a render node is found in the next walk, and where none of these signs shows it (it closed
// another file meanwhile, and debugfs is not readable) within kMostWalks walks. A tree that is not the machine's own
// procfs is scanned whole each time.
//
// Sleeping devices: reading the fdinfo of an xe client resumes its GPU, and nothing inside the file can be known
// without reading it. While an xe GPU sleeps a file is therefore read only if it is known to belong to another Intel
// GPU: the link /proc/<pid>/fd/<fd> leads to a node of it (if the link may be read), or the same descriptor of the same
// process (identified by its start time) showed it in an earlier walk. All others are skipped, and counted if their
// owner is unknown: a new client of an awake GPU next to a sleeping xe GPU is detected only with CAP_DAC_READ_SEARCH,
// or when that GPU wakes. Reading the fdinfo of an i915 client touches memory only.
namespace igpu {

class ClientWalk final : public ClientFinder {
 public:
  static constexpr unsigned kMostWalks = 16;

  struct Limits {
    // Checked between files. A walk that reaches it ends as incomplete, and the next one begins where it ended. Known
    // clients are read first, and finding out which processes changed takes half of it at most.
    Nanoseconds time{std::chrono::seconds(2)};
  };
  ClientWalk(Machine& machine, Limits limits) : machine_(machine), scan_(machine, limits.time) {}

  Reading<ClientSnapshot> find(std::span<const std::string> asleep) override;

 private:
  Reading<Unit> list_processes();
  void choose_openers();
  bool examine_others();

  Machine& machine_;
  ClientScan scan_;
  DrmOpeners openers_;
  std::uint32_t examine_from_ = 0;  // PID
};

}  // namespace igpu
