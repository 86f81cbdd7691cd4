// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "igpu/options.h"

namespace igpu {

// A PCI device with DRM nodes, whatever its vendor and driver. Names as in Gpu.
struct DisplayDevice {
  std::string address, pci_path;
  std::string card, render_node;  // "" if there is none
  std::uint16_t vendor = 0, device_id = 0;
};

// The devices of the machine that the options name, by card. A device that cannot be read is left out. Throws
// OptionError.
std::vector<DisplayDevice> display_devices(const MonitorOptions& options);

}  // namespace igpu
