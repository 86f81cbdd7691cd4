// SPDX-License-Identifier: Apache-2.0
#include "kernel/device/displays.h"

#include <algorithm>
#include <array>

#include "base/scan.h"
#include "kernel/device/drm_nodes.h"

namespace igpu {
namespace {

std::uint16_t read_id(const Directory& sys, const std::string& path) {
  std::array<char, 64> buffer;
  const auto text = sys.read(path, buffer);
  return text ? scan_integer<std::uint16_t>(*text, 16).value_or(0) : 0;
}

}  // namespace

std::vector<DisplayDevice> display_devices(const Directory& sys) {
  std::vector<DisplayDevice> devices;
  for (const DrmNodeName& node : drm_nodes(sys, [](const auto&) {})) {
    auto at = std::find_if(devices.begin(), devices.end(),
                           [&](const DisplayDevice& device) { return device.pci_path == node.pci_path; });
    if (at == devices.end()) {
      devices.push_back({.address = std::string(last_part(node.pci_path)),
                         .pci_path = node.pci_path,
                         .vendor = read_id(sys, node.pci_path + "/vendor"),
                         .device_id = read_id(sys, node.pci_path + "/device")});
      at = devices.end() - 1;
    }
    add_node(*at, node.name);
  }
  std::erase_if(devices, [](const DisplayDevice& device) { return device.vendor == 0; });
  return devices;
}

}  // namespace igpu
