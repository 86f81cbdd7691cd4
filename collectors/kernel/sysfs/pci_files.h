// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/units.h"
#include "kernel/sysfs/attribute.h"
#include "machine/filesystem.h"

namespace igpu {

// Runtime power management of a PCI device: <pci>/power/ (Documentation/ABI/testing/sysfs-devices-power). Reading these
// files never wakes the device. power/control: whether the device may sleep at all ("auto"), or never does ("on").
Reading<bool> may_suspend(const Directory& sys, std::string_view pci_path);
// <pci>/d3cold_allowed: whether it may lose its power while it sleeps.
Reading<bool> d3cold_allowed(const Directory& sys, std::string_view pci_path);

class RuntimePm {
 public:
  RuntimePm(const Directory& sys, std::string_view pci_path);
  // runtime_status: suspended or suspending; do not read anything that resumes the device. Absent: the device reports
  // no status. Failure: the text is not a status.
  Reading<bool> suspended();
  // runtime_usage: how many users keep the device awake now. Absent on kernels without CONFIG_PM_ADVANCED_DEBUG.
  Reading<std::uint64_t> users();
  // autosuspend_delay_ms: how long the device stays awake after its last use; 0 if it does not suspend by itself.
  Nanoseconds autosuspend_delay();

 private:
  std::string path_;
  Reading<std::unique_ptr<File>> status_;
  Attribute usage_;
  Attribute delay_;
};

// The link between a card and its slot (Documentation/ABI/testing/sysfs-bus-pci: current_link_speed and so on). Arc
// cards carry a PCIe switch: the GPU function itself shows a fixed x1 at 2.5 GT/s inside it, and the real link is that
// of the switch's upstream port, the outermost bridge that belongs to the card.

// Every PCI function from the root port down to the device, as paths; only the device itself if it is on a root bus. A
// domain inside another one (10000, of a volume management device) has root ports of its own; bridges outside it are
// not above the device.
std::vector<std::string> pci_functions(std::string_view pci_path);

class PcieLinkFiles {
 public:
  PcieLinkFiles(const Directory& sys, const Gpu& gpu);

  // Reading these files accesses the device's config space, which resumes it.
  Reading<TransfersPerSecond> current_speed() { return speed(current_speed_); }
  Reading<TransfersPerSecond> max_speed() { return speed(max_speed_); }
  Reading<Lanes> current_width() { return width(current_width_); }
  Reading<Lanes> max_width() { return width(max_width_); }
  // What the slot supports: the port of the board that the card is plugged into. Absent if that port is not visible.
  Reading<TransfersPerSecond> slot_speed() { return speed(slot_speed_); }
  Reading<Lanes> slot_width() { return width(slot_width_); }
  const std::string& port() const { return port_; }  // PCI path of the function whose link this is

  // "devices/pci0000:00/<root port>/<switch upstream>/<switch downstream>/<gpu>" -> "…/<switch upstream>"; a card
  // without a switch of its own is its own port. "" for a GPU on the root bus: it has no link.
  static std::string port_of(const Directory& sys, std::string_view pci_path);

 private:
  Reading<TransfersPerSecond> speed(std::optional<Attribute>& attribute);
  Reading<Lanes> width(std::optional<Attribute>& attribute);
  bool is_inside_of_switch();

  std::string port_;
  bool is_gpu_itself_ = false;
  std::optional<bool> inside_;
  std::optional<Attribute> current_speed_, max_speed_, current_width_, max_width_, slot_speed_, slot_width_;
};

}  // namespace igpu
