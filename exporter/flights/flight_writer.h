// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "flights/flight_folder.h"
#include "igpu/flight.h"
#include "igpu/log.h"
#include "igpu/unique_fd.h"

// The exporter's own threads can write no file. Another process does, with no other right: it gets names and bytes over
// a stream socket, and answers with what went wrong.
namespace igpu::exporter {

// Of the writing process: first reports whether it may write into the folder, then writes what comes, until the other
// end of the socket is closed. open: throws std::system_error.
void write_flights(int socket, const FlightFolder& folder);
void report_no_folder(int socket, int error, std::string_view what);  // instead

// The exporter's end: sends each flight, on a thread of its own. One that cannot be written is counted, and the first
// of a row is logged. It stays in memory.
class FlightKeeper {
 public:
  // Waits for the writer's first report. Throws std::runtime_error if it cannot write into the folder; a folder without
  // room is logged only.
  // patience: how long the writer may take for one flight. Later it is counted as not written, and the next one is
  // sent when the writer has answered about it.
  FlightKeeper(std::shared_ptr<const Flights> flights, UniqueFd socket, Log& log,
               std::chrono::milliseconds patience = std::chrono::seconds(60));
  ~FlightKeeper() = default;  // a flight that is being written may take a few seconds more
  FlightKeeper(const FlightKeeper&) = delete;
  FlightKeeper& operator=(const FlightKeeper&) = delete;

  // Called once, on a thread whose rights the new one may have.
  void start();

  std::uint64_t failures() const { return failures_; }
  std::uint64_t kept() const { return kept_; }

 private:
  void write(const Flight& flight, const std::stop_token& stop);
  std::string exchange(const std::stop_token& stop);
  void failed(const std::string& error, const char* hint);

  const std::shared_ptr<const Flights> flights_;
  UniqueFd socket_;  // none: the writer has ended
  Log& log_;
  const std::chrono::milliseconds patience_;
  // What the writer is given. It may outlast the patience for its flight.
  std::string message_;  // "": the writer has received it
  std::size_t sent_ = 0;
  bool is_unanswered_ = false;
  std::atomic<std::uint64_t> failures_{0}, kept_{0};
  bool failed_ = false;  // the last one
  std::jthread thread_;  // last: it ends first
};

}  // namespace igpu::exporter
