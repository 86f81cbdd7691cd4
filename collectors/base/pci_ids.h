// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace igpu {

// Name of a PCI device in the text of pci.ids: vendors at column 0, devices after one tab, subsystems after two.
// "" if it is not listed. The view is into text.
std::string_view pci_device_name(std::string_view text, std::uint16_t vendor, std::uint16_t device);

}  // namespace igpu
