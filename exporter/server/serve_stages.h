// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "cli/options.h"
#include "igpu/flight.h"
#include "igpu/log.h"
#include "igpu/options.h"
#include "igpu/unique_fd.h"
#include "server/flights/flight_files.h"
#include "server/push/push_target.h"
#include "server/push/pusher.h"
#include "server/sandbox/sandbox.h"
#include "server/self/own_metrics.h"

namespace igpu::exporter {

// A receiver that --push.* names.
struct PushReceiver {
  std::unique_ptr<PushReadings> readings;
  UniqueFd socket;  // of the process that talks to it
};

// Starts the processes that push, which read credentials and load libraries, so call it before secrets are read,
// privileges are dropped and other threads exist. Throws std::invalid_argument for a proxy that cannot be used.
std::vector<PushReceiver> start_push(const PushOptions& options, const Sandbox& sandbox,
                                     const Environment& environment);

using PushTargets = std::vector<std::unique_ptr<PushTarget>>;
PushTargets wait_until_started(std::vector<PushReceiver> receivers);  // throws std::runtime_error with the reason

// What delivers to them; start() starts its threads. Null: nothing is pushed.
std::unique_ptr<Pusher> prepare_pusher(PushTargets targets, Nanoseconds interval, PushMetrics& metrics, ReadPage read,
                                       Log& log);

// The process that writes into --flight.directory; none without it. Throws std::runtime_error where there is none.
UniqueFd start_flight_writer(const Options& options, const Sandbox& sandbox);
// What hands flights over to it. Null without a writer.
std::unique_ptr<FlightKeeper> start_flight_keeper(const Options& options, const std::shared_ptr<const Flights>& flights,
                                                  UniqueFd writer, Log& log);

struct Options;

// `serve` starts in five stages, whose order is security (docs/sandbox.md). Each takes what the one before returns, so
// that a wrong order does not compile (tests/contract/must_not_compile.py). The end of one ends those before it.
struct StartedHelpers;  // other processes; no key has been read, and no thread exists
struct ReadSecrets;     // sockets, the web configuration with its keys, credentials
struct OpenedEarly;     // what needs rights that are dropped next
struct Confined;        // collectors' threads exist, and each layer of the sandbox is on

template <class Stage>
struct EndStage {
  void operator()(Stage* stage) const;
};
template <class Stage>
using Passed = std::unique_ptr<Stage, EndStage<Stage>>;

Passed<StartedHelpers> start_helpers(const Options& options);
Passed<ReadSecrets> read_secrets(Passed<StartedHelpers> helpers);
Passed<OpenedEarly> open_with_privileges(Passed<ReadSecrets> secrets);
Passed<Confined> confine(Passed<OpenedEarly> opened);
int serve_clients(Passed<Confined> confined);  // until a signal ends the program

}  // namespace igpu::exporter
