// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/reading.h"

// What the tracker inside Level Zero programs writes: pages with what a program holds, and event logs. Both come from
// other programs and may contain anything; inconsistent content is rejected.
namespace igpu {

struct LevelZeroFrame {
  std::string library;       // path as the program saw it; "" if unknown
  std::uint64_t offset = 0;  // of the return address, in the file
  auto operator<=>(const LevelZeroFrame&) const = default;
};

// Live resources of one kind that were created at one place.
struct LevelZeroSite {
  std::string_view kind, function;
  std::vector<LevelZeroFrame> frames;  // the caller first; none if it is unknown
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  double first_seconds = 0;  // of the creations, since the program began
  double last_seconds = 0;
};

struct LevelZeroKindUse {
  std::string_view kind;
  std::uint64_t created = 0, destroyed = 0, live = 0, live_peak = 0, failed = 0;
  std::uint64_t bytes = 0, bytes_peak = 0, bytes_allocated = 0;
};

struct LevelZeroProcess {
  std::string file;  // its page's name
  std::string comm, executable;
  std::int64_t pid = 0;  // in the namespace of this process while it is alive, otherwise in its own
  bool alive = false;
  bool exited = false;  // ended, and its exit handlers ran
  std::uint64_t started_realtime_ns = 0, ended_realtime_ns = 0;
  std::uint64_t calls = 0, errors = 0, invalid_destroys = 0, untracked = 0;
  std::vector<LevelZeroKindUse> kinds;  // those that were used
  std::vector<LevelZeroSite> live;      // most bytes first, then most resources
};

// Describes a whole page. Pure; nullopt for anything that no tracker writes.
std::optional<LevelZeroProcess> describe_level_zero_page(std::span<const std::byte> file);

struct LevelZeroFolder {
  std::vector<LevelZeroProcess> processes;  // newest first
  std::uint64_t rejected = 0;               // files
};
// Absent without the folder.
Reading<LevelZeroFolder> read_level_zero_folder(const std::string& path);

struct LevelZeroEvent {
  std::uint64_t since_start_ns = 0;
  std::string_view function;
  std::string_view kind;  // of what the call creates or destroys, whatever its result; "" if nothing
  bool destroys = false;
  std::uint32_t thread = 0, result = 0;
  std::uint64_t handle = 0;
  std::uint64_t total_bytes = 0;           // of live allocations
  std::array<std::uint32_t, 10> counts{};  // in the order of the CSV's columns
  // kB; zeros in a log without them.
  std::uint64_t vm_size = 0, vm_resident = 0, vm_data = 0, vm_peak = 0, threads = 0;
  std::int64_t size_change = 0, resident_change = 0, data_change = 0;
};

// A log's events one after the other. Pure.
class LevelZeroLogReader {
 public:
  // nullopt: not a log, or of another version.
  static std::optional<LevelZeroLogReader> open(std::span<const std::byte> log);

  std::uint32_t pid() const { return pid_; }
  bool with_memory() const { return with_memory_; }
  // nullopt at the end. An incomplete record at the end, and functions that this version does not know, are skipped.
  std::optional<LevelZeroEvent> next();
  std::uint64_t unreadable() const { return unreadable_; }

 private:
  std::span<const std::byte> rest_;
  std::size_t event_bytes_ = 0;
  std::uint32_t pid_ = 0;
  bool with_memory_ = false;
  std::uint64_t unreadable_ = 0;
};

}  // namespace igpu
