// SPDX-License-Identifier: Apache-2.0
#include "source/xe_gt_idle.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>

#include "base/scan.h"

namespace igpu {
namespace {

struct GtDirectory {
  unsigned gt;
  std::string path;
};

std::optional<unsigned> number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return scan_integer<unsigned>(name.substr(prefix.size()));
}

std::vector<GtDirectory> gt_directories(const Directory& sys, std::string_view pci_path) {
  std::vector<GtDirectory> found;
  for (const std::string& tile : sorted_names(sys, pci_path)) {
    if (!number_after("tile", tile)) continue;
    const std::string tile_path = std::string(pci_path) + "/" + tile;
    for (const std::string& entry : sorted_names(sys, tile_path))
      if (const auto gt = number_after("gt", entry)) found.push_back({*gt, tile_path + "/" + entry});
  }
  std::sort(found.begin(), found.end(), [](const GtDirectory& a, const GtDirectory& b) { return a.gt < b.gt; });
  // Numbers are unique in the GPU. If two tiles had the same one, engines would be counted twice.
  const auto same = [](const GtDirectory& a, const GtDirectory& b) { return a.gt == b.gt; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

}  // namespace

std::vector<unsigned> xe_gts(const Directory& sys, std::string_view pci_path) {
  std::vector<unsigned> gts;
  for (const GtDirectory& directory : gt_directories(sys, pci_path)) gts.push_back(directory.gt);
  return gts;
}

XeGtIdle::XeGtIdle(const Directory& sys, std::string_view pci_path) {
  for (const GtDirectory& directory : gt_directories(sys, pci_path)) {
    auto file = sys.open(directory.path + "/gtidle/idle_residency_ms");
    if (!file) continue;
    files_.push_back(std::move(*file));
    residencies_.push_back({directory.gt, Absent{}});
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
