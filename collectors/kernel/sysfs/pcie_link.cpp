// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/pcie_link.h"

#include <array>

#include "base/scan.h"

namespace igpu {
namespace {

bool is_pci_function(std::string_view name) {
  return name.size() >= 12 && name[name.size() - 2] == '.' && name[name.size() - 5] == ':' &&
         name[name.size() - 8] == ':';
}

}  // namespace

std::vector<std::string> pci_functions(std::string_view pci_path) {
  std::vector<std::string> functions;
  for (std::size_t begin = 0; begin < pci_path.size();) {
    const std::size_t end = std::min(pci_path.find('/', begin), pci_path.size());
    const std::string_view name = pci_path.substr(begin, end - begin);
    if (name.starts_with("pci")) functions.clear();
    if (is_pci_function(name)) functions.emplace_back(pci_path.substr(0, end));
    begin = end + 1;
  }
  return functions;
}

std::string PcieLinkFiles::port_of(const Directory& sys, std::string_view pci_path) {
  const std::vector<std::string> functions = pci_functions(pci_path);
  if (functions.size() < 2) return {};
  // The root port in front belongs to the board. A card's switch is Intel's own and two bridges deep (upstream port,
  // downstream port); a switch of another maker is the board's.
  std::size_t port = functions.size() - 1;
  for (int bridges = 0; bridges < 2 && port > 1; ++bridges) {
    std::array<char, 32> buffer;
    const auto vendor = sys.read(functions[port - 1] + "/vendor", buffer);
    if (vendor && scan_hex(trim(*vendor)) != 0x8086u) break;
    --port;
  }
  return functions[port];
}

PcieLinkFiles::PcieLinkFiles(const Directory& sys, const Gpu& gpu) : port_(port_of(sys, gpu.pci_path)) {
  if (gpu.kind == GpuKind::integrated || port_.empty()) return;
  is_gpu_itself_ = port_ == gpu.pci_path;
  current_speed_.emplace(sys, port_ + "/current_link_speed");
  max_speed_.emplace(sys, port_ + "/max_link_speed");
  current_width_.emplace(sys, port_ + "/current_link_width");
  max_width_.emplace(sys, port_ + "/max_link_width");
  const std::vector<std::string> functions = pci_functions(port_);
  if (functions.size() < 2) return;
  slot_speed_.emplace(sys, functions[functions.size() - 2] + "/max_link_speed");
  slot_width_.emplace(sys, functions[functions.size() - 2] + "/max_link_width");
}

// Passed through to a virtual machine without its switch, a card shows the inside of that switch, always x1 at 2.5
// GT/s, and the slot's link is unknown.
bool PcieLinkFiles::is_inside_of_switch() {
  if (!is_gpu_itself_) return false;
  if (!inside_) {
    const auto widest = max_width_->number();
    if (widest) inside_ = *widest == 1;
  }
  return inside_.value_or(false);
}

Reading<TransfersPerSecond> PcieLinkFiles::speed(std::optional<Attribute>& attribute) {
  if (!attribute || is_inside_of_switch()) return Absent{Reason::hardware};
  std::array<char, 64> buffer;
  const auto text = attribute->text(buffer);
  if (!text) return text.propagate<TransfersPerSecond>();
  std::string_view rest = *text;  // "16.0 GT/s PCIe", "Unknown"
  const auto gigatransfers = scan_double(take_until(rest, ' '));
  if (!gigatransfers || *gigatransfers <= 0 || !rest.starts_with("GT/s")) return Absent{Reason::hardware};
  return TransfersPerSecond{*gigatransfers * 1e9};
}

Reading<Lanes> PcieLinkFiles::width(std::optional<Attribute>& attribute) {
  if (!attribute || is_inside_of_switch()) return Absent{Reason::hardware};
  const auto lanes = attribute->number();
  if (!lanes) return lanes.propagate<Lanes>();
  if (*lanes == 0 || *lanes > 32) return Absent{Reason::hardware};  // 255: the config space could not be read
  return Lanes{static_cast<double>(*lanes)};
}

}  // namespace igpu
