// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "igpu/flight.h"
#include "igpu/log.h"
#include "igpu/unique_fd.h"
#include "platform/helper_socket.h"
#include "server/flights/flight_folder.h"

// The exporter's own threads cannot write files. A separate process, which has no other right, does: it receives names
// and bytes over a stream socket and answers with errors.
namespace igpu::exporter {

// Runs in the writing process: reports whether it may write into the folder, then writes each flight it receives, until
// the other end of the socket is closed.
void write_flights(int socket, const FlightFolder& folder);
void report_no_folder(int socket, int error, std::string_view what);  // called instead if there is no usable folder

// The exporter's end: sends each flight, on a thread of its own. A flight that cannot be written is counted and stays
// in memory; the first of several such failures in a row is logged.
class FlightKeeper {
 public:
  // Waits for the writer's first report. Throws std::runtime_error if it cannot write into the folder; a folder without
  // room is logged only. time_limit: of the writer, for one flight. After it the flight counts as not
  // written; the next flight is sent when the writer has answered.
  FlightKeeper(std::shared_ptr<const Flights> flights, UniqueFd socket, Log& log,
               std::chrono::milliseconds time_limit = std::chrono::seconds(60));
  ~FlightKeeper() = default;  // may wait a few seconds for a flight that is being written
  FlightKeeper(const FlightKeeper&) = delete;
  FlightKeeper& operator=(const FlightKeeper&) = delete;

  // Call once, on a thread whose rights the new thread may inherit.
  void start();

  std::uint64_t failures() const { return failures_; }
  std::uint64_t kept() const { return kept_; }

 private:
  void write(const Flight& flight, const std::stop_token& stop);
  std::string exchange(const std::stop_token& stop);
  void failed(const std::string& error, const char* hint);

  const std::shared_ptr<const Flights> flights_;
  HelperSocket socket_;
  Log& log_;
  const std::chrono::milliseconds time_limit_;
  bool is_unanswered_ = false;  // the writer may take longer than the time limit of its flight
  std::atomic<std::uint64_t> failures_{0}, kept_{0};
  bool failed_ = false;  // the last flight could not be written
  std::jthread thread_;  // last: it ends first
};

}  // namespace igpu::exporter
