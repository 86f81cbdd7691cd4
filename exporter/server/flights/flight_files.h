// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "igpu/flight.h"
#include "igpu/log.h"
#include "igpu/unique_fd.h"
#include "platform/helper_socket.h"

namespace igpu::exporter {

// The forms in which a flight is served and kept. Pure functions.

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

// The flights of --flight.directory, as traces for Perfetto: flight-TIME-NUMBER-CAUSE.pftrace. Other files, and
// other users', are left alone. The folder is opened once, so its replacement is not noticed.
class FlightFolder {
 public:
  static constexpr std::size_t kMost = Flights::kMost;
  static constexpr std::size_t kLongestName = 80;

  // Removes unfinished files of this user's earlier process. Throws std::system_error, with the path.
  explicit FlightFolder(const std::string& path);

  // Writes a file, which is complete when it appears; another user's stays. If there are too many, removes files by the
  // rule of Flights::add(). Throws std::system_error.
  void keep(std::string name, std::string_view bytes) const;
  // Creates a file and removes it again. Throws std::system_error.
  void check() const;
  int descriptor() const { return folder_.get(); }

  // The flights in a folder, the oldest first; changes nothing. Throws std::system_error, with the path.
  static std::vector<std::string> names(const std::string& path);
  static std::string name_of(const Flight& flight);
  static bool is_name(std::string_view name);  // whether keep() accepts the name: no path

 private:
  UniqueFd folder_;
  std::uint32_t owner_;
};

// The exporter's own threads cannot write files. A separate process, which has no other right, does: it receives names
// and bytes over a stream socket and answers with errors.

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
