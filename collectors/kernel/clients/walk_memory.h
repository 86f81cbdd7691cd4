// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "igpu/units.h"
#include "kernel/clients/client_files.h"

namespace igpu {

// What the walks know about a process.
struct WalkedProcess {
  std::uint32_t pid = 0;
  unsigned scans = 0;                 // complete scans of this inode, up to 2; a scan of the first walk counts as 2
  std::uint64_t scanned_in = 0;       // number of the walk that scanned it last
  std::uint64_t lost_in = 0;          // number of the last walk that found fewer clients than the one before; 0: none
  Nanoseconds scanned{};              // begin of the last scan; before the first scan: when the process was listed
  std::uint64_t inode = 0;            // of /proc/<pid>/fd; 0: unknown
  std::uint64_t descriptors = 0;      // at the last scan; 0: the kernel does not report the number
  std::uint64_t inode_now = 0;        // of the current walk
  std::uint64_t descriptors_now = 0;  // of the current walk
  std::size_t resume_at = 0;          // where a scan that ran out of time continues
  bool examined = false;              // inode_now and descriptors_now are known
  std::uint64_t listed_files = 0;     // descriptors of DRM nodes, as a BPF finder listed them last
  bool must_scan = false;
  ClientFiles clients;

  bool holds_clients() const { return !clients.files.empty(); }
};

// The processes of the last walk, by PID, and which of them the next walk scans.
class WalkMemory {
 public:
  // Makes these the remembered processes. pids: sorted.
  void follow(std::span<const std::uint32_t> pids, Nanoseconds now);
  std::span<WalkedProcess> processes() { return processes_; }
  std::span<const WalkedProcess> processes() const { return processes_; }

  // Sets must_scan of the processes with the oldest scans, as many as are needed to scan each process within `walks`
  // walks. walk: number of the current walk.
  void choose_oldest(std::uint64_t walk, unsigned walks);
  // The processes with must_scan: interrupted scans first, then holders of clients if holders_first, then the oldest
  // scan.
  std::vector<WalkedProcess*> to_scan(bool holders_first);

 private:
  std::vector<WalkedProcess> processes_;
};

}  // namespace igpu
