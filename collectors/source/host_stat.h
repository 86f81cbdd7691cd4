// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// /proc/stat (Documentation/filesystems/proc.rst; fs/proc/stat.c): what the processors of the machine have done. Pure.
namespace igpu {

inline constexpr std::size_t kCpuModes = 8;
// In the file's order; guest time is part of user and nice, and left out.
inline constexpr std::array<std::string_view, kCpuModes> kCpuModeNames{"user",   "nice", "system",  "idle",
                                                                       "iowait", "irq",  "softirq", "steal"};

struct CpuTimes {
  std::uint32_t cpu = 0;
  std::array<std::uint64_t, kCpuModes> ticks{};  // of a hundredth of a second
};

// Every processor that is online, in the file's order, without their sum. Nothing where a line has another shape.
// Kernels may take a little of idle and iowait back.
std::optional<std::vector<CpuTimes>> parse_host_stat(std::string_view text);

}  // namespace igpu
