// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/pci_files.h"

#include <algorithm>
#include <array>

#include "base/scan.h"

namespace igpu {
namespace {

bool is_pci_function(std::string_view name) {
  return name.size() >= 12 && name[name.size() - 2] == '.' && name[name.size() - 5] == ':' &&
         name[name.size() - 8] == ':';
}

}  // namespace

RuntimePm::RuntimePm(const Directory& sys, std::string_view pci_path)
    : path_(std::string(pci_path) + "/power/runtime_status"),
      status_(sys.open(path_)),
      usage_(sys, std::string(pci_path) + "/power/runtime_usage"),
      delay_(sys, std::string(pci_path) + "/power/autosuspend_delay_ms") {}

namespace {

Reading<bool> one_of(const Directory& sys, const std::string& path, std::string_view yes, std::string_view no) {
  std::array<char, 32> buffer;
  const auto text = sys.read(path, buffer);
  if (!text) return text.propagate<bool>();
  const std::string_view word = trim(*text);
  if (word != yes && word != no) return Failure{std::make_error_code(std::errc::bad_message), path};
  return word == yes;
}

}  // namespace

Reading<bool> may_suspend(const Directory& sys, std::string_view pci_path) {
  return one_of(sys, std::string(pci_path) + "/power/control", "auto", "on");
}

Reading<bool> d3cold_allowed(const Directory& sys, std::string_view pci_path) {
  return one_of(sys, std::string(pci_path) + "/d3cold_allowed", "1", "0");
}

Reading<std::uint64_t> RuntimePm::users() { return usage_.number(); }

Nanoseconds RuntimePm::autosuspend_delay() {
  const Reading<std::int64_t> delay = delay_.signed_number();  // negative: it never goes to sleep
  constexpr std::int64_t kLongest = 3'600'000;                 // an hour: no longer delay is configured in practice
  return std::chrono::milliseconds(std::clamp<std::int64_t>(delay.value_or(0), 0, kLongest));
}

Reading<bool> RuntimePm::suspended() {
  if (!status_) return status_.propagate<bool>();
  std::array<char, 32> buffer;
  const auto text = (*status_)->read(buffer);
  if (!text) return text.propagate<bool>();
  const std::string_view status = trim(*text);
  if (status == "unsupported") return Absent{Reason::hardware};
  if (status == "suspended" || status == "suspending") return true;
  if (status == "active" || status == "resuming" || status == "error") return false;
  return Failure{std::make_error_code(std::errc::bad_message), path_};
}

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
