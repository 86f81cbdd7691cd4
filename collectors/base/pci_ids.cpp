// SPDX-License-Identifier: Apache-2.0
#include "base/pci_ids.h"

#include "base/scan.h"

namespace igpu {
namespace {

// "8086  Intel Corporation": four hex digits and two blanks.
bool begins_with_id(std::string_view line, std::uint16_t id) {
  if (line.size() < 6 || line[4] != ' ') return false;
  const auto value = scan_integer<std::uint16_t>(line.substr(0, 4), 16);
  return value && *value == id;
}

}  // namespace

std::string_view pci_device_name(std::string_view text, std::uint16_t vendor, std::uint16_t device) {
  bool in_vendor = false;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.empty() || line.front() == '#') continue;
    if (line.front() != '\t') {
      if (in_vendor) return {};
      in_vendor = begins_with_id(line, vendor);
      continue;
    }
    if (!in_vendor || line.starts_with("\t\t")) continue;
    line.remove_prefix(1);
    if (begins_with_id(line, device)) return trim(line.substr(4));
  }
  return {};
}

}  // namespace igpu
