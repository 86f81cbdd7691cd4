// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace igpu::exporter {

// What igt calls a family of GPUs, and the generation that it shows beside it: "dg2", 12.
struct Codename {
  std::string_view name;  // "": unknown
  int generation = 0;
};

// By PCI device id (include/drm/intel/pciids.h), as intel_gpu_top -L and its filter device= name them.
Codename igt_codename(std::uint16_t device_id);

}  // namespace igpu::exporter
