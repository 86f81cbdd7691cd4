// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/scan.h"
#include "igpu/reading.h"
#include "kernel/device/drm_nodes.h"
#include "machine/filesystem.h"

namespace igpu {

// Memory of a card that the kernel charged to a control group.
struct DmemCharge {
  std::string device;  // PCI address
  std::string region;  // "vram0", as fdinfo names it
  std::uint64_t bytes = 0;
  bool operator==(const DmemCharge&) const = default;
};
// A line of a dmem file for each region of a GPU, sorted; other lines, such as those of other kinds of devices, are
// left out.
inline std::vector<DmemCharge> parse_dmem(std::string_view text) {
  std::vector<DmemCharge> charges;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');  // "drm/0000:03:00.0/vram0 12550144"
    std::string_view region = take_until(line, ' ');
    if (take_until(region, '/') != "drm") continue;
    const std::string_view device = take_until(region, '/');
    const auto bytes = scan_u64(trim(line));
    if (is_pci_address(device) && !region.empty() && region.size() <= 64 && bytes)
      charges.push_back({std::string(device), std::string(region), *bytes});
  }
  std::ranges::sort(charges, {}, [](const DmemCharge& charge) { return std::tie(charge.device, charge.region); });
  return charges;
}

struct CgroupDmem {
  std::string cgroup;  // path in the unified hierarchy: "/system.slice/docker-<id>.scope"
  std::vector<DmemCharge> charges;
};

// The controller `dmem` of cgroup v2 (Linux 6.14; kernel/cgroup/dmem.c, Documentation/admin-guide/cgroup-v2.rst):
// <cgroup>/dmem.current, world-readable, has a line "drm/0000:03:00.0/vram0 12550144" for each region: the device as
// drmm_cgroup_register_region() names it (drivers/gpu/drm/drm_drv.c), the region as the driver does
// (xe_ttm_vram_mgr.c: vram0, vram1; i915 has none), and bytes. A buffer is charged to the group of the process that
// made it, while it is in the card's memory.
//
// Finds the groups that hold memory, each with what it holds itself, without the groups below it. If the controller is
// not enabled below a group (cgroup.subtree_control), the charges of all groups below count as that group's own. Reads
// no group below one that holds nothing. Absent{kernel}: the kernel has no such controller. Absent{disabled,
// EOPNOTSUPP}: no group has it enabled.
class CgroupDmemTree {
 public:
  static constexpr std::size_t kMostGroups = 4096;  // that are read in a scan
  static constexpr std::size_t kDeepest = 32;

  explicit CgroupDmemTree(const Directory& sys) : sys_(sys) {}
  Reading<std::vector<CgroupDmem>> read() const {
    auto all = charges_of(std::string(kControlGroups));
    if (!all) return all.propagate<std::vector<CgroupDmem>>();
    Scan scan;
    descend(std::string(kControlGroups), *std::move(all), 0, scan);
    if (scan.groups == 0) return Absent{Reason::disabled, EOPNOTSUPP};
    return std::move(scan.found);
  }

 private:
  static constexpr std::string_view kControlGroups = "fs/cgroup";
  static constexpr std::uint32_t kTypeMask = 0170000, kFolder = 0040000;  // of FileFacts::mode

  static bool is_same_region(const DmemCharge& a, const DmemCharge& b) {
    return a.device == b.device && a.region == b.region;
  }

  static bool holds_memory(const std::vector<DmemCharge>& charges) {
    return std::ranges::any_of(charges, [](const DmemCharge& charge) { return charge.bytes > 0; });
  }

  // Groups change while they are read, so those below may hold more than the sum above.
  static void subtract(std::vector<DmemCharge>& from, const std::vector<DmemCharge>& part) {
    for (const DmemCharge& charge : part)
      for (DmemCharge& rest : from)
        if (is_same_region(rest, charge)) rest.bytes -= std::min(rest.bytes, charge.bytes);
  }

  struct Scan {
    std::vector<CgroupDmem> found;
    std::size_t groups = 0;  // that have the file, without the root
  };
  Reading<std::vector<DmemCharge>> charges_of(const std::string& folder) const {
    std::array<char, 4096> buffer;  // a line for each region of each card
    return sys_.read_start(folder + "/dmem.current", buffer).map(parse_dmem);
  }
  void descend(const std::string& folder, std::vector<DmemCharge> charges, std::size_t depth, Scan& scan) const {
    const bool is_root = depth == 0;
    if (depth < kDeepest && (is_root || holds_memory(charges))) {
      std::vector<std::string> below;
      const auto listed = sys_.for_each(folder, [&](std::string_view name) {
        const auto facts = sys_.stat(folder + "/" + std::string(name));
        if (facts && (facts->mode & kTypeMask) == kFolder) below.push_back(folder + "/" + std::string(name));
        return below.size() < kMostGroups;
      });
      if (!listed) below.clear();
      for (const std::string& child : below) {
        if (scan.groups >= kMostGroups) break;
        auto part = charges_of(child);
        if (!part) continue;  // the controller is not enabled there, or the group is gone
        ++scan.groups;
        subtract(charges, *part);
        if (holds_memory(*part)) descend(child, *std::move(part), depth + 1, scan);
      }
    }
    std::erase_if(charges, [](const DmemCharge& charge) { return charge.bytes == 0; });
    if (!is_root && !charges.empty()) scan.found.push_back({folder.substr(kControlGroups.size()), std::move(charges)});
  }

  const Directory& sys_;
};

}  // namespace igpu
