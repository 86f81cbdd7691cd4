// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace igpu {

// Name of a PCI device in pci.ids: vendors at column 0, devices after one tab, subsystems after two. The list is read
// in pieces, which may end anywhere in a line. "" if the device is not listed.
class PciDeviceSearch {
 public:
  PciDeviceSearch(std::uint16_t vendor, std::uint16_t device) : vendor_(vendor), device_(device) {}

  bool add(std::string_view piece);  // false: the search is over
  void end();                        // call after the last piece: its last line may lack a line break
  const std::string& name() const { return name_; }

 private:
  bool read_line(std::string_view line);

  std::uint16_t vendor_, device_;
  bool in_vendor_ = false;
  std::string begun_;  // the beginning of a line that the next piece continues
  std::string name_;
};

}  // namespace igpu
