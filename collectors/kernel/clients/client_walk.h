// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/scan.h"
#include "igpu/reading.h"
#include "kernel/clients/client_scan.h"
#include "kernel/clients/clients.h"
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
inline std::vector<std::uint32_t> parse_drm_openers(std::string_view text) {
  // The command's column; a name has 15 bytes at most, and may hold anything.
  constexpr std::size_t kCommand = 20;
  std::vector<std::uint32_t> pids;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.size() <= kCommand) continue;
    line.remove_prefix(kCommand);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const auto pid = scan_integer<std::uint32_t>(line.substr(0, line.find(' ')));  // the title has none
    if (pid.value_or(0) != 0) pids.push_back(*pid);
  }
  return pids;
}

class DrmOpeners {
 public:
  // Processes whose number of open files changed since the last call. Empty if debugfs cannot be read.
  std::vector<std::uint32_t> changed(const Directory& sys) {
    constexpr std::string_view kDebugDri = "kernel/debug/dri";
    // Thousands of open files; what does not fit is found without this hint.
    constexpr std::size_t kMostClientsText = 256UL * 1024;
    // Minors of primary nodes. The folder of a render node repeats what its primary node's has.
    constexpr std::uint32_t kPrimaryNodes = 64;
    Counts now;
    (void)sys.for_each(kDebugDri, [&](std::string_view name) {
      const auto minor = scan_integer<std::uint32_t>(name);
      if (!minor || *minor >= kPrimaryNodes) return true;
      buffer_.resize(kMostClientsText);
      const auto text = sys.read_start(std::string(kDebugDri) + '/' + std::string(name) + "/clients", buffer_);
      if (text)
        for (const std::uint32_t pid : parse_drm_openers(*text)) ++now[pid];
      return true;
    });
    std::vector<Counts::value_type> different;
    std::set_symmetric_difference(now.begin(), now.end(), known_.begin(), known_.end(), std::back_inserter(different));
    std::vector<std::uint32_t> pids;
    for (const auto& entry : different)
      if (pids.empty() || pids.back() != entry.first) pids.push_back(entry.first);
    known_ = std::move(now);
    return pids;
  }

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

  Reading<ClientSnapshot> find(std::span<const std::string> asleep) override {
    scan_.begin(asleep);
    if (const auto listed = list_processes(); !listed) return listed.propagate<ClientSnapshot>();
    if (!scan_.all_asleep()) {
      // Signs that a process must be scanned, without reading its descriptors.
      for (WalkedProcess& process : scan_.memory().processes())
        process.must_scan = scan_.is_unsettled(process) || process.scans < 2;
      choose_openers();
      scan_.memory().choose_oldest(scan_.number(), kMostWalks);
      scan_.read_known();
      // A walk without time for all processes still scans some of them.
      const bool all_examined = !scan_.snapshot().complete || examine_others();
      scan_.scan_chosen(all_examined);
    }
    return scan_.finish();
  }

 private:
  static std::optional<std::uint32_t> scan_pid(std::string_view name) {
    if (name.empty() || name.front() < '0' || name.front() > '9') return std::nullopt;  // most of /proc is not a PID
    return scan_integer<std::uint32_t>(name);
  }

  Reading<Unit> list_processes() {
    auto& pids = scan_.snapshot().pids;
    auto listed = machine_.proc.for_each(".", [&pids](std::string_view name) {
      if (const auto pid = scan_pid(name)) pids.push_back(*pid);
      return true;
    });
    std::ranges::sort(pids);
    std::vector<std::uint32_t> others = pids;
    if (scan_.self()) std::erase(others, *scan_.self());
    scan_.memory().follow(others, scan_.snapshot().time);
    return listed;
  }
  void choose_openers() {
    const auto processes = scan_.memory().processes();
    for (const std::uint32_t pid : openers_.changed(machine_.sys)) {
      const auto found = std::ranges::lower_bound(processes, pid, {}, &WalkedProcess::pid);
      if (found != processes.end() && found->pid == pid) found->must_scan = true;
    }
  }
  // Examines the other processes in turn. Takes at most half of the time; the scans need the other half. False if it
  // ran out of time: the next walk continues with the next process.
  bool examine_others() {
    const auto processes = scan_.memory().processes();
    const auto first = std::ranges::lower_bound(processes, examine_from_, {}, &WalkedProcess::pid);
    const auto offset = static_cast<std::size_t>(first - processes.begin());
    examine_from_ = 0;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      WalkedProcess& process = processes[(offset + i) % processes.size()];
      if (process.must_scan || process.examined) continue;
      if (machine_.clock.now() >= scan_.half_time()) {
        examine_from_ = process.pid;
        return false;
      }
      (void)scan_.examine(process);
      process.must_scan = ClientScan::has_changed(process);
    }
    return true;
  }

  Machine& machine_;
  ClientScan scan_;
  DrmOpeners openers_;
  std::uint32_t examine_from_ = 0;  // the PID at which the next walk continues to look for changed processes
};

}  // namespace igpu
