// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "igpu/flight.h"

// The forms in which a flight is served and kept. Pure functions.
namespace igpu::exporter {

// The clocks at one moment, to tell the time of day of samples.
struct FlightClocks {
  std::int64_t monotonic_ns = 0, boottime_ns = 0, realtime_ns = 0;
};

FlightClocks clocks_now();

// "[{...}]": number, cause, device, detail, time (seconds since 1970) of each; the oldest first.
std::string flight_list_json(std::span<const std::shared_ptr<const Flight>> flights, const FlightClocks& clocks);

// One JSON object in a line: {"flight"}, then one {"gpu"} for each GPU with the names of its values, {"sample"} for
// each sample, {"client"}, {"fault"}, and at last {"end"}. A file without its end has been cut.
std::string flight_json_lines(const Flight& flight, const FlightClocks& clocks);

// For ui.perfetto.dev and `trace report`: counters, clients as slices, the event and the kernel's lines as instants.
std::string flight_trace(const Flight& flight, const FlightClocks& clocks);

}  // namespace igpu::exporter
