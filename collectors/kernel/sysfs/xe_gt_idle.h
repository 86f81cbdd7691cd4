// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "machine/filesystem.h"

// Sleep states of the GTs of an xe device: <pci>/tile<T>/gt<G>/gtidle/idle_residency_ms
// (drivers/gpu/drm/xe/xe_gt_idle.c). G is unique on the device.
namespace igpu {

// Time in C6 by GT. Reading it resumes a suspended device. The files stay open; virtual functions have none.
class XeGtIdle {
 public:
  struct Residency {
    unsigned gt = 0;
    Reading<std::uint64_t> milliseconds;
  };

  XeGtIdle(const Directory& sys, std::string_view pci_path);
  // In the order of the GT numbers; the view is valid until the next call.
  const std::vector<Residency>& read();

 private:
  std::vector<std::unique_ptr<File>> files_;
  std::vector<Residency> residencies_;
};

}  // namespace igpu
