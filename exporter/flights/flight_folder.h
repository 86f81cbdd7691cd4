// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/flight.h"
#include "igpu/unique_fd.h"

namespace igpu::exporter {

// The flights of --flight.directory, as traces for Perfetto: flight-TIME-NUMBER-CAUSE.pftrace. Other files in the
// folder are left alone. The folder is opened once: one that is replaced later is not noticed.
class FlightFolder {
 public:
  static constexpr std::size_t kMost = Flights::kMost;
  static constexpr std::size_t kLongestName = 80;

  // Removes what an earlier process left unfinished. Throws std::system_error, with the path.
  explicit FlightFolder(const std::string& path);

  // A file that is complete when it appears. Of too many, those go that would go in memory (Flights::add()). Throws
  // std::system_error.
  void keep(const std::string& name, std::string_view bytes) const;
  // Creates a file and removes it again. Throws std::system_error.
  void check() const;
  int descriptor() const { return folder_.get(); }

  // The flights in a folder, the oldest first; changes nothing. Throws std::system_error, with the path.
  static std::vector<std::string> names(const std::string& path);
  static std::string name_of(const Flight& flight);
  static bool is_name(std::string_view name);  // of a file that keep() may write: no path

 private:
  UniqueFd folder_;
};

}  // namespace igpu::exporter
