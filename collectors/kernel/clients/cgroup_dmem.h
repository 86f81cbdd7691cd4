// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/reading.h"
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
std::vector<DmemCharge> parse_dmem(std::string_view text);

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
  Reading<std::vector<CgroupDmem>> read() const;

 private:
  struct Scan;
  Reading<std::vector<DmemCharge>> charges_of(const std::string& folder) const;
  void descend(const std::string& folder, std::vector<DmemCharge> charges, std::size_t depth, Scan& scan) const;

  const Directory& sys_;
};

}  // namespace igpu
