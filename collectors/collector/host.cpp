// SPDX-License-Identifier: Apache-2.0
#include "collector/host.h"

#include <string>

#include "base/scan.h"

namespace igpu {
namespace {

constexpr double kTicksPerSecond = 100;       // USER_HZ
constexpr std::uint64_t kHeldTicks = 300;     // a larger step back is that of a processor that was taken offline
constexpr std::size_t kLargest = 256U << 10;  // the processors' lines come first; those of interrupts may follow

}  // namespace

std::unique_ptr<MachineCollector> HostCollector::create(const MachineContext& context) {
  return std::make_unique<HostCollector>(context.machine);
}

void HostCollector::collect(MachinePass&, SampleSink& out) {
  read_processors(out);
  count_processes(out);
}

void HostCollector::read_processors(SampleSink& out) {
  buffer_.resize(kLargest);
  const auto text = machine_.proc.read_start("stat", buffer_);
  if (text.is_failure()) out.failed(text.failure());
  if (!text) return;
  const auto processors = parse_host_stat(*text);
  if (!processors) {
    out.failed({std::make_error_code(std::errc::protocol_error), "proc/stat"});
    return;
  }
  for (const CpuTimes& times : *processors) {
    auto& known = processors_[times.cpu];
    const std::string cpu = std::to_string(times.cpu);
    for (std::size_t i = 0; i < kCpuModes; ++i) {
      known[i].ticks += known[i].counter.advance(times.ticks[i], kHeldTicks).gained;
      out.add(kCpu, {cpu, kCpuModeNames[i]}, Seconds{static_cast<double>(known[i].ticks) / kTicksPerSecond});
    }
  }
}

void HostCollector::count_processes(SampleSink& out) const {
  std::size_t count = 0;
  const auto listed = machine_.proc.for_each(".", [&count](std::string_view name) {
    if (scan_integer<std::uint32_t>(name)) ++count;
    return true;
  });
  if (listed.is_failure()) out.failed(listed.failure());
  if (listed) out.add(kProcesses, Count{static_cast<double>(count)});
}

}  // namespace igpu
