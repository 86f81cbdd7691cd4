// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "http/listen_address.h"
#include "http/message.h"
#include "igpu/log.h"

namespace igpu::exporter {

struct ListenerOptions {
  std::vector<ListenAddress> addresses;
  unsigned workers = 48;                            // connections served at once
  std::chrono::milliseconds request_timeout{2000};  // for a whole request header, and for a client that stopped reading
};

// The HTTP server. CivetWeb stands behind it and nowhere else.
//
// Serves from construction until stop(). A connection carries one request: an idle one would hold a worker.
class Listener {
 public:
  // Throws std::runtime_error with one clear line (port in use, no such address, not built in). handler and log
  // must outlive the listener.
  Listener(const ListenerOptions& options, HttpHandler& handler, Log& log);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Where it really listens, with the port that was chosen for port 0: "[::]:10068", "127.0.0.1:41234", "unix:/run/x".
  const std::vector<std::string>& bound() const;

  // Refuses new connections, gives answers under way up to `grace` to finish, ends. Idempotent.
  void stop(std::chrono::milliseconds grace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter
