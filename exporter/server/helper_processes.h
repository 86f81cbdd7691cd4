// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "cli/options.h"
#include "igpu/flight.h"
#include "igpu/log.h"
#include "igpu/options.h"
#include "igpu/page.h"
#include "igpu/unique_fd.h"
#include "server/flights/flight_writer.h"
#include "server/sandbox/sandbox.h"
#include "server/self/own_metrics.h"

namespace igpu::exporter {

// They end with this object, without waiting for receivers or collectors.
class PushThreads {
 public:
  virtual ~PushThreads() = default;
  virtual void start() = 0;
};

// What --push.* asks for. Nothing of it exists without one of the flags.
class PushSetup {
 public:
  // Starts the processes that push, which read credentials and load libraries, so call it before secrets are read,
  // privileges are dropped and other threads exist. Throws std::invalid_argument for a proxy that cannot be used.
  PushSetup(const PushOptions& options, const Sandbox& sandbox, const Environment& environment);
  ~PushSetup();

  void wait_until_started();  // throws std::runtime_error with the reason

  // False: it was told to go. Otherwise it calls `use` with a reading.
  using ReadPage = std::function<bool(std::stop_token gone, const std::function<void(const PageView&)>& use)>;

  // Prepares the threads that deliver; start() starts them. Null: nothing is pushed.
  std::unique_ptr<PushThreads> prepare_threads(PushMetrics& metrics, ReadPage read, Log& log);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// The process that writes into --flight.directory; none without it. Throws std::runtime_error where there is none.
UniqueFd start_flight_writer(const Options& options, const Sandbox& sandbox);
// What hands flights over to it. Null without a writer.
std::unique_ptr<FlightKeeper> start_flight_keeper(const Options& options, const std::shared_ptr<const Flights>& flights,
                                                  UniqueFd writer, Log& log);

}  // namespace igpu::exporter
