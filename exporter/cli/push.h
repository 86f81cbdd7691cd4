// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/options.h"
#include "push/connector.h"
#include "push/push_metrics.h"
#include "push/push_target.h"
#include "push/pusher.h"
#include "sandbox/sandbox.h"

namespace igpu::exporter {

// What --push.* asks for. Nothing of it exists without one of the flags.
class PushSetup {
 public:
  // Starts the processes that connect, so call it before secrets are read and other threads exist. Throws
  // std::invalid_argument for a proxy that cannot be used.
  PushSetup(const PushOptions& options, Sandbox& sandbox, const Environment& environment);

  // Reads credentials and loads libraries, so call it before privileges are dropped. Throws std::runtime_error.
  void prepare_targets();

  // Starts the threads that deliver, between confine_clients() and filter_system_calls(). Null: nothing is pushed.
  std::unique_ptr<Pusher> start_threads(PushMetrics& metrics, ReadPage read, Log& log);

 private:
  struct Receiver {
    PushRoute route;
    int connector;
    std::unique_ptr<PushTarget> target;
  };
  std::optional<Receiver> reach(const std::optional<PushAddress>& address, const Environment& environment);

  const PushOptions& options_;
  Sandbox& sandbox_;
  std::optional<Receiver> otlp_, mqtt_;
};

}  // namespace igpu::exporter
