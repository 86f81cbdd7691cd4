// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/flight.h"
#include "igpu/unique_fd.h"

namespace igpu::exporter {

// The flights of --flight.directory, as traces for Perfetto: flight-TIME-NUMBER-CAUSE.pftrace. Other files, and
// other users', are left alone. The folder is opened once, so its replacement is not noticed.
class FlightFolder {
 public:
  static constexpr std::size_t kMost = Flights::kMost;
  static constexpr std::size_t kLongestName = 80;

  // Removes unfinished files of this user's earlier process. Throws std::system_error, with the path.
  explicit FlightFolder(const std::string& path);

  // Writes a file, which is complete when it appears; another user's stays. If there are too many, removes files by the
  // rule of Flights::add(). Throws std::system_error.
  void keep(std::string name, std::string_view bytes) const;
  // Creates a file and removes it again. Throws std::system_error.
  void check() const;
  int descriptor() const { return folder_.get(); }

  // The flights in a folder, the oldest first; changes nothing. Throws std::system_error, with the path.
  static std::vector<std::string> names(const std::string& path);
  static std::string name_of(const Flight& flight);
  static bool is_name(std::string_view name);  // whether keep() accepts the name: no path

 private:
  UniqueFd folder_;
  std::uint32_t owner_;
};

}  // namespace igpu::exporter
