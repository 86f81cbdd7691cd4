// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/host_stat.h"

#include "base/scan.h"

namespace igpu {

std::optional<std::vector<CpuTimes>> parse_host_stat(std::string_view text) {
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
