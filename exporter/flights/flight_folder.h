// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "igpu/flight.h"
#include "igpu/log.h"
#include "igpu/unique_fd.h"

namespace igpu::exporter {

// The flights of --flight.directory, as traces for Perfetto: flight-TIME-CAUSE.pftrace. Other files in the folder are
// left alone. The folder is opened once, before the sandbox closes: one that is replaced later is not noticed.
class FlightFolder {
 public:
  static constexpr std::size_t kMost = Flights::kMost;

  // Removes what an earlier process left unfinished. Throws std::system_error, with the path.
  explicit FlightFolder(const std::string& path);

  // A file that is complete when it appears; the oldest ones go. Throws std::system_error.
  void keep(const std::string& name, std::string_view bytes) const;
  static std::string name_of(const Flight& flight, std::int64_t unix_seconds);

 private:
  UniqueFd folder_;
};

// Writes each flight into the folder, on a thread of its own. A flight that cannot be written is counted, and the first
// one of a row is logged.
class FlightKeeper {
 public:
  FlightKeeper(std::shared_ptr<const Flights> flights, FlightFolder folder, Log& log);
  ~FlightKeeper() = default;  // after the flight that is being written
  FlightKeeper(const FlightKeeper&) = delete;
  FlightKeeper& operator=(const FlightKeeper&) = delete;

  std::uint64_t failures() const { return failures_; }
  std::uint64_t kept() const { return kept_; }

 private:
  void write(const Flight& flight);

  const std::shared_ptr<const Flights> flights_;
  const FlightFolder folder_;
  Log& log_;
  std::atomic<std::uint64_t> failures_{0}, kept_{0};
  bool failed_ = false;  // the last one
  std::jthread thread_;  // last: it ends first
};

}  // namespace igpu::exporter
