// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "kernel/clients/client_clocks.h"
#include "kernel/device/engine_class.h"
#include "machine/machine.h"

// DRM clients of all Intel GPUs as /proc/<pid>/fdinfo shows them (Documentation/gpu/drm-usage-stats.rst), already
// deduplicated by (PCI address, drm-client-id).
namespace igpu {

struct ClientEngine {
  // i915 prints busy time; xe prints a pair of clocks (busy cycles of this client, GPU timestamp).
  std::optional<std::uint64_t> busy_ns;
  std::optional<std::uint64_t> cycles;
  std::optional<std::uint64_t> total_cycles;
  std::uint32_t capacity = 1;  // engines of this class; 0 in the file counts as 1
  bool present() const { return busy_ns || cycles; }
  bool in_cycles() const { return !busy_ns; }
};

// What a client has used on one class of engines since the first scan that found it, in its own unit. Only grows.
struct ClientCount {
  std::uint64_t gained = 0;   // new time only: for counters
  std::uint64_t moved = 0;    // also time that a correction took back and that was counted again: for ratios
  std::uint32_t spoiled = 0;  // number of corrections so far that were too large for their windows
};

struct ClientMemory {
  std::string region;  // as fdinfo names it: "system0", "local0", "vram0", "gtt"
  std::optional<std::uint64_t> total, shared, active, resident, purgeable;  // bytes
};

// The states of a client's memory in drm-usage-stats.rst, with their label values.
struct MemoryState {
  std::string_view label;
  std::optional<std::uint64_t> ClientMemory::*value;
};
inline constexpr std::array<MemoryState, 5> kMemoryStates{{{"total", &ClientMemory::total},
                                                           {"shared", &ClientMemory::shared},
                                                           {"active", &ClientMemory::active},
                                                           {"resident", &ClientMemory::resident},
                                                           {"purgeable", &ClientMemory::purgeable}}};

struct DrmClient {
  std::string device;  // PCI address from drm-pdev
  Driver driver = Driver::i915;
  std::uint64_t id = 0;                                // drm-client-id
  std::uint32_t pid = 0;                               // the lowest PID of the processes that hold it
  Nanoseconds time{};                                  // when its text was read; deltas use this time, not the walk's
  std::array<ClientEngine, kEngineClasses> engines{};  // indexed by EngineClass
  std::vector<ClientMemory> memory;

  // Set by ClientLedgers.
  std::uint64_t serial = 0;  // identifies this client; a later client with the same id has another serial
  std::size_t slot = 0;      // index among its GPU's clients, hidden ones included
  std::array<ClientCount, kEngineClasses> counts{};  // indexed by EngineClass

  bool reports_engine_time() const {
    return std::ranges::any_of(engines, [](const ClientEngine& engine) { return engine.present(); });
  }
};

// A client of an NPU: drivers/accel has the same interface, with memory only.
struct NpuClient {
  std::string device;  // PCI address from drm-pdev
  std::uint64_t id = 0;
  std::uint32_t pid = 0;  // as DrmClient::pid
  std::string comm;
  std::vector<ClientMemory> memory;
};

struct ClientProcess {
  std::uint32_t pid = 0;
  std::uint64_t start_time_ticks = 0;  // field 22 of /proc/<pid>/stat: distinguishes a reused PID
  std::string comm;
  std::string user;          // name if the passwd file knows the uid, else the number
  std::string cgroup;        // path in the unified hierarchy, or in the most specific one
  std::string container_id;  // 64 hex digits, or ""
  std::string pod_uid;
  std::string systemd_unit;
  std::optional<Seconds> cpu;
  std::optional<Bytes> resident;
  std::optional<Bytes> virtual_size;
};

struct ClientSnapshot {
  Nanoseconds time{};                       // when the scan began
  std::optional<std::uint64_t> boot_ticks;  // the same moment on the clock of ClientProcess::start_time_ticks
  std::string_view way = "walk";            // how clients were found: walk or bpf
  std::optional<Nanoseconds> oldest_scan;   // time of the oldest scan of a process; nullopt: no scan needed
  std::vector<DrmClient> clients;           // sorted by (device, pid, id)
  std::vector<NpuClient> npu_clients;       // sorted by (device, pid, id)
  std::vector<ClientProcess> processes;     // processes that hold a client of a GPU; sorted by pid
  std::vector<std::uint32_t> pids;          // all running processes, visited or not; sorted
  std::uint64_t processes_denied = 0;       // processes of other users, whose fdinfo needs CAP_SYS_PTRACE
  std::uint64_t processes_seen = 0;
  std::uint64_t blocks_skipped = 0;    // truncated or malformed text, or a client without id or address
  std::uint64_t npu_files_silent = 0;  // open nodes of NPUs without DRM text: an older kernel
  // Files that were not read, because they may belong to a sleeping GPU. With CAP_DAC_READ_SEARCH their GPU is known.
  std::uint64_t files_left_out = 0;
  bool complete = true;      // false: the time limit was reached; the rest follows in the next walk
  bool pids_hidden = false;  // /proc is mounted with hidepid, or shows only this PID namespace
  Nanoseconds duration{};
  std::shared_ptr<ClientClocks> clocks;  // set by ClientLedgers; later scans share it

  std::span<const DrmClient> clients_of(std::string_view device) const {
    const auto begin = std::ranges::lower_bound(clients, device, {}, &DrmClient::device);
    return {begin, std::ranges::upper_bound(clients, device, {}, &DrmClient::device)};
  }
  // Null: the process holds no client.
  const ClientProcess* process(std::uint32_t pid) const {
    const auto at = std::ranges::lower_bound(processes, pid, {}, &ClientProcess::pid);
    return at != processes.end() && at->pid == pid ? &*at : nullptr;
  }
  // Rate of the clock that cycles of the GPU's clients count by; nullopt while it is not known.
  std::optional<double> hertz(std::string_view device) const { return clocks ? clocks->hertz(device) : std::nullopt; }
  bool runs(std::uint32_t pid) const { return std::ranges::binary_search(pids, pid); }
  // True if no user of a GPU can be missing: every process was read, and every block was parsed.
  bool shows_all() const { return complete && blocks_skipped == 0 && !why_hidden(); }
  // Why clients may be missing for longer than this walk.
  std::optional<Absent> why_hidden() const {
    if (processes_denied > 0) return Absent{Reason::permission, EACCES};
    if (pids_hidden) return Absent{Reason::permission, ENOENT};
    // More files are readable when the other GPU wakes, so this is not reported as a missing permission.
    if (files_left_out > 0) return Absent{Reason::suspended, EACCES};
    return std::nullopt;
  }
};

// Finds every DRM client of i915 and xe on the machine, deduplicated, with facts about the processes that hold a
// client. The exporter's own process is skipped: it opens nodes only to measure. One thread at a time.
class ClientFinder {
 public:
  virtual ~ClientFinder() = default;
  // asleep: PCI addresses of suspended GPUs; their clients are skipped. Absent or Failure only if /proc itself cannot
  // be read; processes that ended or may not be read are counted in the snapshot.
  virtual Reading<ClientSnapshot> find(std::span<const std::string> asleep) = 0;
};

// Uses BPF where the machine offers it, otherwise a walk over /proc. Under Windows: the graphics kernel's statistics of
// each process.
std::unique_ptr<ClientFinder> make_client_finder(Machine& machine);

}  // namespace igpu
