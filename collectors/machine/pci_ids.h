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

  bool add(std::string_view piece);  // false: what follows does not matter
  void end();                        // the last line may lack its line break
  const std::string& name() const { return name_; }

 private:
  bool take(std::string_view line);

  std::uint16_t vendor_, device_;
  bool in_vendor_ = false;
  std::string begun_;  // a line whose end has not come yet
  std::string name_;
};

}  // namespace igpu
