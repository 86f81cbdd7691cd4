// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/scan.h"

namespace igpu {

// Name of a PCI device in pci.ids: vendors at column 0, devices after one tab, subsystems after two. The list is read
// in pieces, which may end anywhere in a line. "" if the device is not listed.
class PciDeviceSearch {
 public:
  PciDeviceSearch(std::uint16_t vendor, std::uint16_t device) : vendor_(vendor), device_(device) {}

  // False: the search is over.
  bool add(std::string_view piece) {
    for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      std::string_view line = piece.substr(0, end);
      if (!begun_.empty()) line = begun_.append(line);
      const bool goes_on = read_line(line);
      begun_.clear();
      if (!goes_on) return false;
      piece.remove_prefix(end + 1);
    }
    begun_.append(piece.substr(0, kLongestLine - std::min(kLongestLine, begun_.size())));
    return true;
  }
  // Call after the last piece: its last line may lack a line break.
  void end() {
    (void)read_line(begun_);
    begun_.clear();
  }
  const std::string& name() const { return name_; }

 private:
  // "8086  Intel Corporation": four hex digits and two blanks.
  static bool begins_with_id(std::string_view line, std::uint16_t id) {
    if (line.size() < 6 || line[4] != ' ') return false;
    const auto value = scan_integer<std::uint16_t>(line.substr(0, 4), 16);
    return value && *value == id;
  }

  static constexpr std::size_t kLongestLine = 4096;  // longer than any line of such a list

  enum class Line { other, vendor, next_vendor, device };

  static Line kind_of(std::string_view& line, bool in_vendor, std::uint16_t vendor, std::uint16_t device) {
    if (line.empty() || line.front() == '#') return Line::other;
    if (line.front() != '\t') {
      if (in_vendor) return Line::next_vendor;
      return begins_with_id(line, vendor) ? Line::vendor : Line::other;
    }
    if (!in_vendor || line.starts_with("\t\t")) return Line::other;
    line.remove_prefix(1);
    if (!begins_with_id(line, device)) return Line::other;
    line = trim(line.substr(4));
    return Line::device;
  }

  bool read_line(std::string_view line) {
    switch (kind_of(line, in_vendor_, vendor_, device_)) {
      case Line::other: return true;
      case Line::vendor: in_vendor_ = true; return true;
      case Line::next_vendor: return false;
      case Line::device: name_ = line; return false;
    }
    return false;
  }

  std::uint16_t vendor_, device_;
  bool in_vendor_ = false;
  std::string begun_;  // the beginning of a line that the next piece continues
  std::string name_;
};

}  // namespace igpu
