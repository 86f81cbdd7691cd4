// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/scan.h"

// /proc/stat (Documentation/filesystems/proc.rst; fs/proc/stat.c): CPU time of the machine's processors. Pure.
namespace igpu {

inline constexpr std::size_t kCpuModes = 8;
// In the file's order; guest time is part of user and nice, and omitted.
inline constexpr std::array<std::string_view, kCpuModes> kCpuModeNames{"user",   "nice", "system",  "idle",
                                                                       "iowait", "irq",  "softirq", "steal"};

struct CpuTimes {
  std::uint32_t cpu = 0;
  std::array<std::uint64_t, kCpuModes> ticks{};  // in hundredths of a second
};

// Every online processor, in the file's order, without the line of their sum. nullopt if a line has an unexpected
// format. idle and iowait may step back a little.
inline std::optional<std::vector<CpuTimes>> parse_host_stat(std::string_view text) {
  std::vector<CpuTimes> cpus;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    std::string_view name = take_until(line, ' ');
    constexpr std::string_view kCpu = "cpu";
    if (!name.starts_with(kCpu)) continue;
    name.remove_prefix(kCpu.size());
    if (name.empty()) continue;
    const auto number = scan_integer<std::uint32_t>(name);
    if (!number) return std::nullopt;
    CpuTimes cpu;
    cpu.cpu = *number;
    for (std::uint64_t& ticks : cpu.ticks) {
      const auto value = scan_u64(take_until(line, ' '));
      if (!value) return std::nullopt;
      ticks = *value;
    }
    cpus.push_back(cpu);
  }
  if (cpus.empty()) return std::nullopt;
  return cpus;
}

}  // namespace igpu
