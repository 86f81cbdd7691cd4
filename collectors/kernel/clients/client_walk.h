// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/reading.h"
#include "kernel/clients/client_finder.h"
#include "kernel/clients/client_scan.h"
#include "machine/filesystem.h"
#include "machine/machine.h"

// Finds the DRM clients of a machine in /proc/<pid>/fdinfo (fs/proc/fd.c).
//
// Permissions: fdinfo of other users' processes needs ptrace read access (CAP_SYS_PTRACE), nothing else;
// /proc/<pid>/fd would need CAP_DAC_READ_SEARCH as well and is optional, see below.
//
// Memory: the first walk reads every descriptor of a process (it scans it); a process that came later is scanned by two
// walks, because at the first it may still be opening its files. Later walks read only the descriptors that showed a
// client, until
//   - the number of its descriptors changes. Linux 6.2 and newer report it as the size of /proc/<pid>/fd; on older
//     kernels the walk lists the descriptors, which costs less than reading them, and compares their numbers;
//   - a known descriptor is closed or no longer shows a client. The next kMostWalks walks then scan the process,
//     because the kernel may only have failed to show the client;
//   - /proc/<pid>/fd has another inode: it is another process, or the kernel dropped the inode from its cache;
//   - DRM's debugfs, where it may be read, shows another number of files that the process opened (DrmOpeners);
//   - its last scan is kMostWalks walks old: every walk scans that share of the processes, the oldest scan first.
// So a process that opens a render node is found in the next walk. If none of these signs shows it (it closed another
// file meanwhile, and debugfs is not readable), it is found within kMostWalks walks. A tree that is not the machine's
// own procfs is scanned completely each time.
//
// Sleeping devices: reading the fdinfo of an xe client resumes its GPU. While an xe GPU sleeps, a file is therefore
// read only if it is known to belong to another Intel GPU: the link /proc/<pid>/fd/<fd> leads to a node of that GPU (if
// the link may be read), or the same descriptor of the same process (identified by its start time) showed that GPU in
// an earlier walk. All other files are skipped, and counted if their GPU is unknown. So a new client of an awake GPU
// next to a sleeping xe GPU is found only with CAP_DAC_READ_SEARCH, or when the sleeping GPU wakes. Reading the fdinfo
// of an i915 client only touches memory.
namespace igpu {

// Who opened the DRM nodes, as DRM's debugfs shows it: /sys/kernel/debug/dri/<minor>/clients
// (drivers/gpu/drm/drm_debugfs.c).
//
// It is a hint, never proof. It names the process that opened a node (from Linux 6.7 on, the last process that used the
// file). It does not name processes that inherited or received the descriptor, and names none once the opener has
// ended. Linux before 6.2 names the thread. So a finder can use it to scan a process sooner, but must still scan the
// other processes.
//
// Permissions: debugfs is root's (mode 0700). Reading the file does not resume the GPU.

// The PIDs in the text, one per open file, without 0 (a process of another PID namespace).
std::vector<std::uint32_t> parse_drm_openers(std::string_view text);

class DrmOpeners {
 public:
  // Processes whose number of open files changed since the last call. Empty if debugfs cannot be read.
  std::vector<std::uint32_t> changed(const Directory& sys);

 private:
  using Counts = std::map<std::uint32_t, std::uint32_t>;  // open files by PID

  Counts known_;
  std::vector<char> buffer_;
};

class ClientWalk final : public ClientFinder {
 public:
  static constexpr unsigned kMostWalks = 16;

  struct Limits {
    // Checked between files. A walk that reaches the limit is incomplete, and the next walk continues where it stopped.
    // Known clients are read first; the search for changed processes takes at most half of the time.
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
  std::uint32_t examine_from_ = 0;  // the PID at which the next walk continues to look for changed processes
};

}  // namespace igpu
