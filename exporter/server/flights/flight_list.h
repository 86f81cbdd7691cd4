// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Lists of flights, as the command `flights` reads and prints them. Pure functions.
namespace igpu::exporter {

// A flight of /api/v1/flights.
struct ListedFlight {
  std::uint64_t number = 0;
  std::string cause, device, detail;
  double time = 0;  // seconds since 1970
  std::uint64_t more_events = 0;
};

// Parses the text of flight_list_json(), which may come from any program. nullopt: the text is something else. Unknown
// members are skipped.
std::optional<std::vector<ListedFlight>> parse_flight_list(std::string_view json);

std::string flight_table(std::span<const ListedFlight> flights);

// A file of --flight.directory.
struct FlightFile {
  std::string name;
  std::uint64_t bytes = 0;
  bool whole = false;  // a complete trace
};
std::string flight_file_table(std::span<const FlightFile> files);
std::string flight_file_json(std::span<const FlightFile> files);

}  // namespace igpu::exporter
