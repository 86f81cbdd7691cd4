// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "igpu/units.h"
#include "kernel/clients/clients.h"
#include "kernel/clients/drm_descriptor.h"
#include "kernel/clients/process.h"
#include "machine/machine.h"

namespace igpu {

struct FdinfoBlock;

// A descriptor that showed a DRM client, or DRM text that cannot be parsed into a client.
struct ClientFile {
  std::uint32_t fd = 0;
  std::string device;  // PCI address; "" if the text has none
};

// The result of one scan of a process, from which the next scan continues.
struct ClientFiles {
  std::vector<ClientFile> files;       // sorted by fd
  std::uint64_t start_time_ticks = 0;  // of the process that holds the files
  bool denied = false;
  std::uint64_t skipped = 0;   // files with truncated or malformed text
  std::uint64_t left_out = 0;  // files of an unknown GPU that were not read, because a GPU sleeps
  std::uint64_t silent = 0;    // nodes of an NPU without DRM text
};

// Reads the clients of single processes into a snapshot.
class ClientFileReader {
 public:
  struct Scan {
    ClientSnapshot& snapshot;
    const SleepingGpus& gpus;
    Nanoseconds deadline;
    bool live;  // /proc is this machine's own, not a captured tree: links lead to open files
  };
  ClientFileReader(Machine& machine, UserNames& users, const Scan& scan)
      : machine_(machine), users_(users), scan_(scan) {}

  // Both functions return false if the deadline stopped them.
  // Reads all descriptors from number `skip` on. Sets `visited` to the number of descriptors read so far.
  bool read_all(std::uint32_t pid, ClientFiles& process, std::size_t skip, std::size_t& visited);
  // Reads the known descriptors. Sets `changed` if one of them is gone or no longer shows DRM text.
  bool read_known(std::uint32_t pid, ClientFiles& process, bool& changed);

 private:
  enum class Visit { client, unreadable, left_out, silent, nothing, gone, denied, stopped };

  void begin(std::uint32_t pid, const ClientFiles& known);
  bool end(ClientFiles& process);
  Visit visit(std::uint32_t fd, bool known_file);
  Visit add_client(const FdinfoBlock& block, Nanoseconds now);
  void add_npu_client(const FdinfoBlock& block);
  bool add_file(Visit visit, std::uint32_t fd, ClientFiles& found);
  std::optional<std::string> link_target(std::uint32_t fd);
  Reading<FileFacts> opened_device(std::uint32_t fd) const;
  bool is_no_drm_file(std::uint32_t fd);
  bool is_accel_node(std::uint32_t fd) const;
  std::optional<Visit> why_not_readable(std::uint32_t fd);
  const ClientFile* seen_earlier(std::uint32_t fd);

  Machine& machine_;
  UserNames& users_;
  const Scan scan_;

  // Of the current process.
  std::uint32_t pid_ = 0;
  const ClientFiles* known_ = nullptr;
  std::unique_ptr<Directory> directory_;  // opened when its first file is read
  std::size_t first_client_ = 0, first_npu_client_ = 0;
  bool is_accel_ = false;  // the link of the last file led to a node of an NPU
  std::optional<std::uint64_t> start_time_;
  bool links_readable_ = true;
  std::string device_;  // of the last file read
};

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

// The part of a scan that all finders share. Once the finder has determined which processes may hold a client, this
// class reads the known clients, scans the chosen processes within the time limit, and remembers the result for the
// next scan. Call order: begin(), memory().follow(), set must_scan of processes, read_known(), scan_chosen(), finish().
class ClientScan {
 public:
  ClientScan(Machine& machine, Nanoseconds limit) : machine_(machine), limit_(limit), users_(machine.names) {}

  void begin(std::span<const std::string> asleep);
  // True if every Intel GPU sleeps, so that no client may be read.
  bool all_asleep() const { return gpus_.has_sleeping_xe() && gpus_.all_asleep(); }

  // True if the last scans of this process did not agree, so it must be scanned again.
  bool is_unsettled(const WalkedProcess& process) const;
  // Reads inode and size of /proc/<pid>/fd. Absent if the process has ended.
  Reading<Unit> examine(WalkedProcess& process) const;
  // True if examine() found another inode or number of descriptors than the last scan.
  static bool has_changed(const WalkedProcess& process);

  // Reads the clients of processes that need no scan; sets must_scan of a process that has lost one.
  void read_known();
  // Scans the processes with must_scan. all_examined: false if the finder ran out of time before it examined all.
  void scan_chosen(bool all_examined);
  ClientSnapshot finish();

  WalkMemory& memory() { return memory_; }
  ClientSnapshot& snapshot() { return snapshot_; }
  std::uint64_t number() const { return number_; }
  std::optional<std::uint32_t> self() const { return self_; }
  Nanoseconds half_time() const { return deadline_ - limit_ / 2; }

 private:
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
  std::optional<std::uint32_t> self_;  // PID of this process; unknown in a captured tree
  bool counts_descriptors_ = false;    // the kernel reports them as the size of /proc/<pid>/fd
};

}  // namespace igpu
