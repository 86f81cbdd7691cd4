// SPDX-License-Identifier: Apache-2.0
#include "kernel/device/npus.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/scan.h"
#include "kernel/device/drm_nodes.h"

namespace igpu {
namespace {

constexpr std::string_view kClass = "class/accel";

// For machines whose list of PCI ids is missing or older (drivers/accel/ivpu/ivpu_drv.h).
std::string_view known_name(std::uint16_t id) {
  constexpr std::array<std::pair<std::uint16_t, std::string_view>, 6> kNames{{{0x7d1d, "Meteor Lake NPU"},
                                                                              {0xad1d, "Arrow Lake NPU"},
                                                                              {0x643e, "Lunar Lake NPU"},
                                                                              {0xb03e, "Panther Lake NPU"},
                                                                              {0xfd3e, "Wildcat Lake NPU"},
                                                                              {0xd71d, "Nova Lake NPU"}}};
  for (const auto& [known, name] : kNames)
    if (known == id) return name;
  return {};
}

// nullopt: another driver's.
std::optional<NpuDevice> describe(const Machine& machine, NpuDevice npu) {
  const auto driver = machine.sys.read_link(npu.pci_path + "/driver");
  if (!driver || last_part(*driver) != kNpuDriver) return std::nullopt;
  std::array<char, 64> buffer;
  if (const auto id = machine.sys.read(npu.pci_path + "/device", buffer))
    npu.device_id = scan_integer<std::uint16_t>(trim(*id), 16).value_or(0);
  npu.name = machine.names.pci_device(0x8086, npu.device_id);
  if (npu.name.empty()) npu.name = known_name(npu.device_id);
  return npu;
}

}  // namespace

Reading<std::vector<NpuDevice>> find_npus(const Machine& machine, const std::vector<NpuDevice>& known) {
  std::vector<std::string> names;
  const auto listed = machine.sys.for_each(kClass, [&](std::string_view name) {
    if (is_drm_node_name(name, "accel")) names.emplace_back(name);
    return true;
  });
  if (listed.is_absent()) return std::vector<NpuDevice>();  // this kernel has no class of accelerators
  if (!listed) return listed.propagate<std::vector<NpuDevice>>();
  std::vector<NpuDevice> npus;
  for (const std::string& name : names) {
    const auto link = machine.sys.read_link(std::string(kClass) + "/" + name);
    if (!link) continue;  // it was removed meanwhile
    NpuDevice npu;
    npu.accel = name;
    npu.pci_path = pci_path_of_link(*link, "/accel/");
    npu.address = last_part(npu.pci_path);
    if (!is_pci_address(npu.address)) continue;
    const auto folder = machine.sys.stat(npu.pci_path + "/accel/" + name);  // made when the driver binds
    if (!folder) continue;
    npu.binding = folder->inode;
    const auto same = std::ranges::find_if(known, [&](const NpuDevice& old) {
      return old.pci_path == npu.pci_path && old.accel == npu.accel && old.binding == npu.binding;
    });
    auto found = same != known.end() ? std::optional(*same) : describe(machine, std::move(npu));
    if (found && npus.size() < kMostNpus) npus.push_back(*std::move(found));
  }
  std::ranges::sort(npus, {}, &NpuDevice::address);
  return npus;
}

}  // namespace igpu
