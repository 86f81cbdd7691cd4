// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/scan.h"
#include "machine/filesystem.h"

// PCI addresses, and /sys/class/drm: links into the PCI tree; card and render numbers are unrelated.
namespace igpu {

// dddd:bb:ss.f, as the kernel writes it; the domain may have up to eight digits (VMD numbers them from 10000).
constexpr bool is_pci_address(std::string_view text) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  if (text.size() < 12 || text.size() > 16) return false;
  const std::size_t colon = text.size() - 8;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char expected = i == colon || i == colon + 3 ? ':' : i == colon + 6 ? '.' : '\0';
    if (expected != '\0' ? text[i] != expected : !is_hex(text[i])) return false;
  }
  return true;
}

inline bool is_drm_node_name(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && scan_integer<unsigned>(name.substr(prefix.size())).has_value() &&
         name.substr(prefix.size()).find_first_not_of("0123456789") == std::string_view::npos;
}

// "../../devices/pci0000:00/0000:00:02.0/drm/card1" -> "devices/pci0000:00/0000:00:02.0"
inline std::string pci_path_of_link(std::string_view link, std::string_view drm_or_accel = "/drm/") {
  const std::size_t devices = link.find("devices/");
  const std::size_t drm = link.rfind(drm_or_accel);
  if (devices == std::string_view::npos || drm == std::string_view::npos || drm < devices) return {};
  return std::string(link.substr(devices, drm - devices));
}

struct DrmNodeName {
  std::string name;      // "card1", "renderD128"
  std::string pci_path;  // "devices/pci0000:00/.../0000:03:00.0"
};

// The DRM nodes of PCI devices, by number. Calls note(reading) with the outcome of every reading.
template <class Note>
std::vector<DrmNodeName> drm_nodes(const Directory& sys, const Note& note) {
  std::vector<DrmNodeName> nodes;
  note(sys.for_each("class/drm", [&](std::string_view name) {
    if (is_drm_node_name(name, "card") || is_drm_node_name(name, "renderD")) nodes.push_back({std::string(name), {}});
    return true;
  }));
  for (DrmNodeName& node : nodes) {
    const auto link = sys.read_link("class/drm/" + node.name);
    note(link);
    if (link) node.pci_path = pci_path_of_link(*link);
  }
  std::erase_if(nodes, [](const DrmNodeName& node) { return !is_pci_address(last_part(node.pci_path)); });
  std::ranges::sort(nodes, [](const DrmNodeName& a, const DrmNodeName& b) {
    return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
  });
  return nodes;
}

// A device has several nodes; the first of each kind counts.
template <class Device>
void add_node(Device& device, const std::string& node) {
  std::string& slot = node.starts_with("card") ? device.card : device.render_node;
  if (slot.empty()) slot = node;
}

}  // namespace igpu
