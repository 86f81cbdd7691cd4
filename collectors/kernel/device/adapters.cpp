// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstdio>

#include "kernel/device/discovery.h"

namespace igpu {
namespace {

constexpr std::uint32_t kIntel = 0x8086;

// Windows puts the PCI segment above the eight bits of the bus.
std::string pci_address(const AdapterFacts& facts) {
  if (facts.bus > 0xffffff || facts.slot > 31 || facts.function > 7) return {};
  std::array<char, 24> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", static_cast<unsigned>(facts.bus >> 8),
                                 static_cast<unsigned>(facts.bus & 0xff), static_cast<unsigned>(facts.slot),
                                 static_cast<unsigned>(facts.function));
  return {text.data(), static_cast<std::size_t>(size)};
}

// What Linux would show of a device below the host bridge, or behind another one.
GpuKind kind_of(const AdapterFacts& facts) {
  const bool behind_bridge = (facts.bus & 0xff) != 0;
  return gpu_kind(behind_bridge ? "0000:00:01.0/0000:01:00.0" : "0000:00:02.0",
                  static_cast<std::uint16_t>(facts.device));
}

}  // namespace

Reading<std::vector<Gpu>> adapter_gpus(GpuAdapters& adapters) {
  const auto listed = adapters.list();
  if (!listed) return listed.propagate<std::vector<Gpu>>();
  std::vector<Gpu> gpus;
  for (const AdapterFacts& facts : *listed) {
    if (facts.vendor != kIntel || facts.device == 0 || facts.device > 0xffff) continue;
    Gpu gpu;
    gpu.address = pci_address(facts);
    const bool known = std::ranges::any_of(gpus, [&](const Gpu& other) { return other.address == gpu.address; });
    if (gpu.address.empty() || known) continue;
    gpu.driver = Driver::wddm;
    gpu.device_id = static_cast<std::uint16_t>(facts.device);
    if (facts.revision <= 0xff) gpu.revision = static_cast<std::uint8_t>(facts.revision);
    gpu.kind = kind_of(facts);
    gpu.name = intel_gpu_name(gpu.device_id);
    if (gpu.name.empty()) gpu.name = facts.name;
    gpu.binding = facts.luid;
    gpus.push_back(std::move(gpu));
  }
  std::ranges::sort(gpus, {}, &Gpu::address);
  return gpus;
}

}  // namespace igpu
