// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/flight.h"

// The forms in which a flight is served and kept. Pure functions.
namespace igpu::exporter {

// "[{...}]": an object for each flight, the oldest first, with number, cause, device, detail, time (seconds since 1970)
// and more_events.
std::string flight_list_json(std::span<const std::shared_ptr<const Flight>> flights);

// A JSON object in each line: {"flight"}, then a {"gpu"} for each table of values with their names, followed by a
// {"sample"} for each of its samples, then {"client"}, {"fault"}, and at last {"end"}. A file without {"end"} is
// incomplete.
std::string flight_json_lines(const Flight& flight);

// For ui.perfetto.dev and `trace report`: counters, clients as slices, the event and the kernel's lines as instants.
// boottime_offset: CLOCK_BOOTTIME less CLOCK_MONOTONIC, of the machine that recorded the flight.
std::string flight_trace(const Flight& flight, Nanoseconds boottime_offset);

// Converts a time of the flight (CLOCK_MONOTONIC) to the time since 1970.
Nanoseconds unix_time(const Flight& flight, Nanoseconds time);

// Lists of flights, as the command `flights` reads and prints them. Pure functions.

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
