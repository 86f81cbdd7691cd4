// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "source/client_files.h"
#include "source/clients.h"
#include "source/process.h"
#include "source/sleeping_gpus.h"
#include "source/walk_memory.h"

namespace igpu {

// What all finders do once they know which processes may hold a client: read known clients, scan the processes that
// must be, within the time limit, and remember what was found for the next scan. In this order:
//   begin(), memory().follow(), the finder sets must_scan of processes, read_known(), scan_chosen(), finish()
class ClientScan {
 public:
  ClientScan(Machine& machine, Nanoseconds limit) : machine_(machine), limit_(limit), users_(machine.names) {}

  void begin(std::span<const std::string> asleep);
  // All Intel GPUs sleep: there is no client to read.
  bool nobody_awake() const { return gpus_.guarding() && gpus_.nobody_awake(); }

  // Marks the process if earlier scans require another one.
  bool is_unsettled(const WalkedProcess& process) const;
  // The evidence of /proc/<pid>/fd. Absent if the process has ended.
  Reading<Unit> examine(WalkedProcess& process) const;
  static bool has_changed(const WalkedProcess& process);

  // The clients of processes that need no scan; sets must_scan where one of them is gone.
  void read_known();
  // The processes with must_scan. all_examined: false if the finder had no time to find out about all.
  void scan_chosen(bool all_examined);
  ClientSnapshot finish();

  WalkMemory& memory() { return memory_; }
  ClientSnapshot& snapshot() { return snapshot_; }
  std::uint64_t number() const { return number_; }
  std::optional<std::uint32_t> self() const { return self_; }
  Nanoseconds half_time() const { return deadline_ - limit_ / 2; }

 private:
  bool pids_are_hidden() const;
  ClientFileReader reader();
  bool read_known(ClientFileReader& reader, WalkedProcess& process);
  std::uint64_t descriptor_numbers(std::uint32_t pid) const;
  bool scan(ClientFileReader& reader, WalkedProcess& process);
  void sum_up();

  Machine& machine_;
  const Nanoseconds limit_;
  UserNames users_;

  // Kept from scan to scan.
  WalkMemory memory_;
  std::uint64_t number_ = 0;
  std::size_t usual_clients_ = 0;

  // Of the current scan.
  ClientSnapshot snapshot_;
  SleepingGpus gpus_;
  Nanoseconds deadline_{};
  std::optional<std::uint32_t> self_;  // our own PID. A captured tree does not show it
  bool counts_descriptors_ = false;    // the size of /proc/<pid>/fd
};

}  // namespace igpu
