// SPDX-License-Identifier: Apache-2.0
// The event log that the tracker writes on request: a header, then one record for each tracked call, in the machine's
// byte order. A program that is killed, or a disk that is full, may leave the last record incomplete.
#pragma once

#include <cstdint>

namespace igpu::level_zero {

inline constexpr std::uint64_t kLogMagic = 0x00474f4c305a4c49;  // "ILZ0LOG\0"
inline constexpr std::uint32_t kLogVersion = 1;

// Columns of the counts, in the order of the System Resource Tracker's CSV.
inline constexpr std::uint32_t kLogCounts = 10;

struct LogHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t event_bytes;  // size of LogEvent, or of LogEvent and LogMemory
  std::uint32_t pid;
  std::uint32_t reserved;
  std::uint64_t started_realtime_ns;
  char comm[16];
};

struct LogEvent {
  std::uint64_t since_start_ns;
  std::uint64_t handle;
  std::uint64_t total_bytes;  // of all live allocations, after the call
  std::uint32_t counts[kLogCounts];
  std::uint32_t thread;
  std::uint32_t result;
  std::uint16_t function;
  std::uint16_t reserved[3];
};

// Memory in kB after the call, as in /proc/self/status, and its change during the call.
struct LogMemory {
  std::uint64_t size, resident, data, peak;
  std::int64_t size_change, resident_change, data_change;
  std::uint64_t threads;
};

static_assert(sizeof(LogHeader) == 48);
static_assert(sizeof(LogEvent) == 80);
static_assert(sizeof(LogMemory) == 64);

}  // namespace igpu::level_zero
