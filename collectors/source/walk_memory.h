// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "igpu/units.h"
#include "source/client_files.h"

namespace igpu {

// What a walk remembers of a process.
struct WalkedProcess {
  std::uint32_t pid = 0;
  unsigned scans = 0;                 // whole ones of this process, 2 at most
  std::uint64_t scanned_in = 0;       // number of the walk with the last one
  std::uint64_t lost_in = 0;          // of the last one that found fewer clients than before; 0: none did
  Nanoseconds scanned{};              // when the last one began; before the first: when it was listed
  std::uint64_t inode = 0;            // of /proc/<pid>/fd; 0: unknown
  std::uint64_t descriptors = 0;      // when it was scanned; 0: the kernel does not report it
  std::uint64_t inode_now = 0;        // in the current walk
  std::uint64_t descriptors_now = 0;  // likewise
  std::size_t resume_at = 0;          // descriptors of a scan that was cut short
  bool examined = false;              // inode_now and descriptors_now are known
  std::uint64_t listed_files = 0;     // descriptors of DRM nodes, as a BPF finder listed them last
  bool must_scan = false;
  ClientFiles clients;

  bool holds_clients() const { return !clients.files.empty(); }
};

// The processes of the last walk, by PID, and which of them the next one scans.
class WalkMemory {
 public:
  // pids: sorted. Forgets all others.
  void follow(std::span<const std::uint32_t> pids, Nanoseconds now);
  std::span<WalkedProcess> processes() { return processes_; }
  std::span<const WalkedProcess> processes() const { return processes_; }

  // Sets must_scan of a share of the processes, those with the oldest scans, so that each is scanned within this many
  // walks. walk: the number of the current one.
  void choose_oldest(std::uint64_t walk, unsigned walks);
  // Those that must be scanned, the oldest scan first.
  std::vector<WalkedProcess*> to_scan(bool holders_first);

 private:
  std::vector<WalkedProcess> processes_;
};

}  // namespace igpu
