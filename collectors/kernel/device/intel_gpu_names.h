// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace igpu {

// "Battlemage G21 [Arc B580]": code name and marketing name, if any, in the style of pci.ids. For systems whose pci.ids
// is older than the GPU (Debian 12's is from 2023). Returns "" for an id that is not in the table.
//
// Covers every id of include/drm/intel/pciids.h (Linux 7.0) from Ice Lake on, and older ones from Broadwell on that
// Debian 12's pci.ids lacks. Marketing names: Mesa's include/pci_ids/iris_pci_ids.h, those of cards also pci.ids. A GPU
// without one has its code name alone.
std::string_view intel_gpu_name(std::uint16_t device_id);

}  // namespace igpu
