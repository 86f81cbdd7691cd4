// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/engine_class.h"
#include "igpu/device.h"
#include "igpu/reading.h"
#include "igpu/units.h"

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
};

struct ClientMemory {
  std::string region;  // as fdinfo names it: "system0", "local0", "vram0", "gtt"
  std::optional<std::uint64_t> total, shared, active, resident, purgeable;  // bytes
};

struct DrmClient {
  std::string device;  // PCI address from drm-pdev
  Driver driver = Driver::i915;
  std::uint64_t id = 0;   // drm-client-id
  std::uint32_t pid = 0;  // the lowest PID that holds it
  Nanoseconds time{};     // when its text was read: deltas use this, not the time of the walk
  std::array<ClientEngine, kEngineClasses> engines{};  // indexed by EngineClass
  std::vector<ClientMemory> memory;
};

struct ClientProcess {
  std::uint32_t pid = 0;
  std::uint64_t start_time_ticks = 0;  // field 22 of /proc/<pid>/stat: distinguishes a reused PID
  std::string comm;
  std::string user;          // name if the passwd file knows the uid, else the number
  std::string cgroup;        // path of the unified (or most telling) hierarchy
  std::string container_id;  // 64 hex digits, or ""
  std::string pod_uid;
  std::string systemd_unit;
  std::optional<Seconds> cpu;
  std::optional<Bytes> resident;
  std::optional<Bytes> virtual_size;
};

struct ClientSnapshot {
  Nanoseconds time{};                      // when the scan began
  std::string_view way = "walk";           // how it was made: walk or bpf
  std::optional<Nanoseconds> oldest_scan;  // when the process with the oldest scan was scanned; nothing: no scan needed
  std::vector<DrmClient> clients;          // sorted by (device, pid, id)
  std::vector<ClientProcess> processes;    // those that hold a client; sorted by pid
  std::vector<std::uint32_t> pids;         // all running processes, visited or not; sorted
  std::uint64_t processes_denied = 0;      // fdinfo of another user's process: needs CAP_SYS_PTRACE
  std::uint64_t processes_seen = 0;
  std::uint64_t blocks_skipped = 0;  // truncated or hostile text, client without id or address
  std::uint64_t files_left_out =
      0;                     // may be an awake GPU's or a sleeping one's, so not read; needs CAP_DAC_READ_SEARCH
  bool complete = true;      // false: the time limit was reached; the rest follows in the next walk
  bool pids_hidden = false;  // /proc is mounted with hidepid, or holds only our own PID namespace
  Nanoseconds duration{};

  // No user of a GPU can be missing: every process was read, and every block parsed.
  bool shows_all() const { return complete && blocks_skipped == 0 && !why_hidden(); }
  // Why clients may be missing for longer than this walk.
  std::optional<Absent> why_hidden() const {
    if (processes_denied > 0) return Absent{Reason::permission, EACCES};
    if (pids_hidden) return Absent{Reason::permission, ENOENT};
    // This depends on the sleep of another GPU; no permission was lost.
    if (files_left_out > 0) return Absent{Reason::suspended, EACCES};
    return std::nullopt;
  }
};

}  // namespace igpu
