// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "igpu/log.h"
#include "platform/sockets.h"
#include "server/http/front.h"
#include "server/http/message.h"
#include "server/http/responder.h"

namespace igpu::exporter {

struct ListenerOptions {
  unsigned workers = 48;  // requests answered concurrently, besides one on the front's own thread
  FrontOptions front;     // limits for clients; lowered if the limit of open files is low
  Front::TlsContext tls;  // empty: plain HTTP
};

// The HTTP server on listening sockets: the front, which keeps slow clients away from handlers, and the responder
// behind it. Serves from construction until stop().
class Listener {
 public:
  // sockets: non-blocking. Throws std::system_error if a thread cannot be started. handler and log must outlive the
  // listener.
  Listener(ListenerOptions options, std::vector<UniqueSocket> sockets, HttpHandler& handler, Log& log);
  ~Listener() { stop(std::chrono::milliseconds(0)); }

  // The addresses it listens on, with the port selected for port 0: "[::]:10068", "127.0.0.1:41234", "unix:/run/x".
  const std::vector<std::string>& bound() const { return bound_; }

  // Whether connections are served, for the watchdog.
  bool responds(std::chrono::milliseconds at_most) { return front_->responds(at_most); }

  // Rejects new connections, waits up to `grace` for answers in progress, and stops. Idempotent.
  void stop(std::chrono::milliseconds grace);

 private:
  const std::vector<std::string> bound_;
  Responder responder_;
  const std::unique_ptr<Front> front_;
};

}  // namespace igpu::exporter
