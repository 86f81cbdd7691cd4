// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "machine/filesystem.h"

namespace igpu {

// One output of a GPU, as the kernel remembers it: /sys/class/drm/cardN-NAME, drivers/gpu/drm/drm_sysfs.c. Both drivers
// show what the last probe found. Reading these files neither probes nor resumes the GPU; a write to `status` probes,
// and so does an ioctl on the card node. `edid` holds the monitor's serial number and is not opened.
struct Connector {
  std::string name;           // "DP-1", "HDMI-A-1"
  Reading<bool> connected;    // Absent{hardware}: the driver does not know ("unknown")
  Reading<bool> enabled;      // it shows a picture
  Reading<std::uint64_t> id;  // as CONNECTOR= in uevents; Absent: an older kernel
};

// The kernel's masks of a device's outputs have 32 bits (drm_connector_mask() in include/drm/drm_connector.h).
inline constexpr std::size_t kMostConnectors = 32;

// Sorted by name, at most kMostConnectors. Absent{hardware}: the GPU has no card node.
Reading<std::vector<Connector>> read_connectors(const Directory& sys, const Gpu& gpu);

// The file of an output's modes. A read blocks while any output of the GPU is probed, for seconds if a monitor answers
// badly: modes_show() takes mode_config.mutex.
std::string modes_path(const Gpu& gpu, std::string_view output);
inline constexpr std::size_t kModesStart = 64;  // bytes of the file that are needed
// "1920x1080": the first line of `modes`, which the kernel sorts by preference. Absent if there are none.
Reading<std::string> preferred_mode(std::string_view modes, const std::string& path);

}  // namespace igpu
