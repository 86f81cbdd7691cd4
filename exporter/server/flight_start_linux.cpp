// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "server/flight_start.h"
#include "server/flights/flight_writer.h"
#include "server/sandbox/seccomp_filter.h"

namespace igpu::exporter {

UniqueFd start_flight_writer(const Options& options, const Sandbox& sandbox) {
  if (options.flight_directory.empty()) return {};
  std::optional<FlightFolder> folder;
  return sandbox.start(
      {.name = "flight-writer",
       .files = {.writable = {options.flight_directory}},
       .prepare =
           [&](int socket) {
             try {
               folder.emplace(options.flight_directory);
             } catch (const std::system_error& error) {
               report_no_folder(socket, error.code().value(), "open");
               throw;
             }
           },
       .filter = [&](int socket) { return filter_calls_of_flight_writer(socket, folder->descriptor()); },
       .serve = [&](int socket) { write_flights(socket, *folder); }});
}

std::unique_ptr<FlightKeeper> start_flight_keeper(const Options& options, const std::shared_ptr<const Flights>& flights,
                                                  UniqueFd writer, Log& log) {
  if (!writer) return nullptr;
  try {
    return std::make_unique<FlightKeeper>(flights, std::move(writer), log);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("--flight.directory: " + options.flight_directory + ": " + error.what());
  }
}

}  // namespace igpu::exporter
