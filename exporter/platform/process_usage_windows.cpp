// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "platform/process_usage.h"
#include "platform/windows_headers.h"
// clang-format off: after windows.h
#include <psapi.h>
// clang-format on

namespace igpu::exporter {
namespace {

constexpr double kUnixEpoch = 11'644'473'600;  // seconds after 1601
constexpr double kMostHandles = 16'777'216;    // of one process, on every Windows since 2000

double seconds(const FILETIME& time) {
  return static_cast<double>((std::uint64_t{time.dwHighDateTime} << 32U) | time.dwLowDateTime) * 1e-7;
}

struct Times {
  FILETIME creation{}, exit{}, kernel{}, user{};
};

std::optional<Times> times() {
  Times now;
  if (!::GetProcessTimes(::GetCurrentProcess(), &now.creation, &now.exit, &now.kernel, &now.user)) return std::nullopt;
  return now;
}

}  // namespace

UsageReader::UsageReader() {
  if (const auto now = times()) started_ = seconds(now->creation) - kUnixEpoch;
}

// No number of threads: Windows has it only in a list of all threads of the machine.
ProcessUsage UsageReader::read() const {
  ProcessUsage usage;
  if (const auto now = times()) usage.cpu_seconds = seconds(now->kernel) + seconds(now->user);
  DWORD handles = 0;
  // 0: not told, as by Wine. No process is without a handle.
  if (::GetProcessHandleCount(::GetCurrentProcess(), &handles) && handles > 0) usage.open_files = handles;
  usage.most_open_files = kMostHandles;
  PROCESS_MEMORY_COUNTERS_EX memory{};
  memory.cb = sizeof memory;
  if (::GetProcessMemoryInfo(::GetCurrentProcess(), reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&memory),
                             sizeof memory)) {
    if (memory.PrivateUsage > 0) usage.virtual_bytes = static_cast<double>(memory.PrivateUsage);
    usage.resident_bytes = static_cast<double>(memory.WorkingSetSize);
  }
  return usage;
}

}  // namespace igpu::exporter
