// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "igpu/flight.h"
#include "igpu/units.h"

namespace igpu::sampling {

// A condition that starts a flight without a fault:
//   engine_busy{class=video}>0.98/5s   an engine was busier than that for that long
//   throttled/2s                       a GT's frequency was limited for that long
//   idle_gap{class=video}>0.5s         a working engine was idle for longer than that, and works again
//   scrape_failed                      a collector failed in a scrape
// Without {class=...} it applies to every engine.
struct FlightTrigger {
  FlightCause cause = FlightCause::scrape_failed;
  std::string_view engine_class = {};  // "": any
  double above = 0;                    // busy, 0..1
  Nanoseconds length{};
  bool operator==(const FlightTrigger&) const = default;
};

// Returns the trigger or an error: one line that names the nearest word and everything that is allowed.
std::variant<FlightTrigger, std::string> parse_flight_trigger(std::string_view text);

// The error of parse_flight_trigger(); "" for a valid trigger. For OptionDescriptor::refusal().
std::string refusal_of_flight_trigger(std::string_view text);

}  // namespace igpu::sampling
