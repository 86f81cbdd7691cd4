// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "http/front.h"
#include "http/message.h"
#include "igpu/log.h"
#include "service/descriptor.h"

namespace igpu::exporter {

struct ListenerOptions {
  unsigned workers = 48;  // requests that are answered at once
  FrontOptions front;     // what clients may do; less if the limit of open files is low
  Front::TlsContext tls;  // empty: plain HTTP
};

// The HTTP server on sockets that listen already: the front, which keeps clients apart from workers, and the responder
// behind it.
//
// Serves from construction until stop().
class Listener {
 public:
  // sockets: non-blocking. Throws std::system_error (no thread can be started). handler and log must outlive the
  // listener.
  Listener(ListenerOptions options, std::vector<Descriptor> sockets, HttpHandler& handler, Log& log);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Where it listens, with the port that was chosen for port 0: "[::]:10068", "127.0.0.1:41234", "unix:/run/x".
  const std::vector<std::string>& bound() const;

  // Whether connections are served: what a watchdog asks.
  bool responds(std::chrono::milliseconds at_most);

  // Refuses new connections, gives answers under way up to `grace` to finish, ends. Idempotent.
  void stop(std::chrono::milliseconds grace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter
