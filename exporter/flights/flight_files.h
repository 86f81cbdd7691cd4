// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "igpu/flight.h"

// The forms in which a flight is served and kept. Pure functions.
namespace igpu::exporter {

// "[{...}]": number, cause, device, detail, time (seconds since 1970), more_events of each; the oldest first.
std::string flight_list_json(std::span<const std::shared_ptr<const Flight>> flights);

// One JSON object in a line: {"flight"}, then one {"gpu"} for each table of values with their names, followed by a
// {"sample"} for each of its samples, {"client"}, {"fault"}, and at last {"end"}. A file without its end has been cut.
std::string flight_json_lines(const Flight& flight);

// For ui.perfetto.dev and `trace report`: counters, clients as slices, the event and the kernel's lines as instants.
// boottime_offset: CLOCK_BOOTTIME less CLOCK_MONOTONIC, of the machine that recorded the flight.
std::string flight_trace(const Flight& flight, Nanoseconds boottime_offset);
Nanoseconds boottime_offset();  // of this machine

// The time since 1970 of a moment in the flight.
Nanoseconds unix_time(const Flight& flight, Nanoseconds time);

}  // namespace igpu::exporter
