// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/cgroup_dmem.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <tuple>
#include <utility>

#include "base/scan.h"
#include "kernel/device/pci_address.h"

namespace igpu {
namespace {

constexpr std::string_view kControlGroups = "fs/cgroup";
constexpr std::uint32_t kTypeMask = 0170000, kFolder = 0040000;  // of FileFacts::mode

// "drm/0000:03:00.0/vram0 12550144"
std::optional<DmemCharge> parse_line(std::string_view line) {
  const std::string_view name = take_until(line, ' ');
  std::string_view rest = name;
  if (take_until(rest, '/') != "drm") return std::nullopt;
  const std::string_view device = take_until(rest, '/');
  const auto bytes = scan_u64(trim(line));
  if (!is_pci_address(device) || rest.empty() || rest.size() > 64 || !bytes) return std::nullopt;
  return DmemCharge{std::string(device), std::string(rest), *bytes};
}

bool is_same_region(const DmemCharge& a, const DmemCharge& b) { return a.device == b.device && a.region == b.region; }

bool holds_memory(const std::vector<DmemCharge>& charges) {
  return std::ranges::any_of(charges, [](const DmemCharge& charge) { return charge.bytes > 0; });
}

// Groups change while they are read, so those below may hold more than the sum above.
void subtract(std::vector<DmemCharge>& from, const std::vector<DmemCharge>& part) {
  for (const DmemCharge& charge : part)
    for (DmemCharge& rest : from)
      if (is_same_region(rest, charge)) rest.bytes -= std::min(rest.bytes, charge.bytes);
}

}  // namespace

struct CgroupDmemTree::Scan {
  std::vector<CgroupDmem> found;
  std::size_t groups = 0;  // that have the file, without the root
};

std::vector<DmemCharge> parse_dmem(std::string_view text) {
  std::vector<DmemCharge> charges;
  while (!text.empty())
    if (auto charge = parse_line(take_until(text, '\n'))) charges.push_back(*std::move(charge));
  std::ranges::sort(charges, {}, [](const DmemCharge& charge) { return std::tie(charge.device, charge.region); });
  return charges;
}

Reading<std::vector<DmemCharge>> CgroupDmemTree::charges_of(const std::string& folder) const {
  std::array<char, 4096> buffer;  // a line for each region of each card
  return sys_.read_start(folder + "/dmem.current", buffer).map(parse_dmem);
}

Reading<std::vector<CgroupDmem>> CgroupDmemTree::read() const {
  auto all = charges_of(std::string(kControlGroups));
  if (!all) return all.propagate<std::vector<CgroupDmem>>();
  Scan scan;
  descend(std::string(kControlGroups), *std::move(all), 0, scan);
  if (scan.groups == 0) return Absent{Reason::disabled, EOPNOTSUPP};
  return std::move(scan.found);
}

void CgroupDmemTree::descend(const std::string& folder, std::vector<DmemCharge> charges, std::size_t depth,
                             Scan& scan) const {
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

}  // namespace igpu
