// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cli/options.h"
#include "igpu/flight.h"
#include "igpu/log.h"
#include "igpu/options.h"
#include "igpu/unique_fd.h"
#include "server/flights/flight_writer.h"
#include "server/sandbox/sandbox.h"

namespace igpu::exporter {

// Whether collector samples is on, which has the flight recorder.
bool has_flight_recorder(const MonitorOptions& options);

// The process that writes into --flight.directory; none without it. Throws std::runtime_error where there is none.
UniqueFd start_flight_writer(const Options& options, const Sandbox& sandbox);
// What hands flights over to it. Null without a writer.
std::unique_ptr<FlightKeeper> start_flight_keeper(const Options& options, const std::shared_ptr<const Flights>& flights,
                                                  UniqueFd writer, Log& log);

}  // namespace igpu::exporter
