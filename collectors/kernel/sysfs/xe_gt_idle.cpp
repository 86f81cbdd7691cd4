// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/xe_gt_idle.h"

#include <array>
#include <cerrno>

#include "base/scan.h"
#include "kernel/sysfs/gt_sysfs.h"

namespace igpu {
XeGtIdle::XeGtIdle(const Directory& sys, std::string_view pci_path) {
  for (const GtFolder& gt : xe_gt_folders(sys, pci_path)) {
    auto file = sys.open(gt.path + "/gtidle/idle_residency_ms");
    if (!file) continue;
    files_.push_back(std::move(*file));
    residencies_.push_back({gt.number, Absent{}});
  }
}

const std::vector<XeGtIdle::Residency>& XeGtIdle::read() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::array<char, 32> buffer;
    const auto text = files_[i]->read(buffer);
    if (!text) {
      residencies_[i].milliseconds = text.propagate<std::uint64_t>();
      continue;
    }
    const auto value = scan_u64(*text);
    residencies_[i].milliseconds =
        value ? Reading<std::uint64_t>(*value) : Reading<std::uint64_t>(Absent{Reason::kernel, EINVAL});
  }
  return residencies_;
}

}  // namespace igpu
