// SPDX-License-Identifier: Apache-2.0
// The answer of any program to the command `flights`: refused, or printed without what a terminal would execute.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "server/flights/flight_files.h"

using namespace igpu::exporter;

FUZZ_TARGET(flight_list) {
  const auto flights = parse_flight_list({reinterpret_cast<const char*>(data), size});
  if (!flights) return 0;
  const std::string table = flight_table(*flights);
  FUZZ_CHECK(table.find('\x1b') == std::string::npos);
  FUZZ_CHECK(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')) == flights->size() + 1);
  return 0;
}
