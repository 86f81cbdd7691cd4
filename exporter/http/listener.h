// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "http/front.h"
#include "http/listen_address.h"
#include "http/message.h"
#include "igpu/log.h"
#include "service/descriptor.h"

namespace igpu::exporter {

struct ListenerOptions {
  std::vector<ListenAddress> addresses;
  unsigned workers = 48;  // requests that are answered at once
  FrontOptions front;     // what clients may do; less if the limit of open files is low
  Front::TlsContext tls;  // empty: plain HTTP
};

// The HTTP server: sockets, in front of them the front that keeps clients apart from workers, behind it CivetWeb.
//
// Serves from construction until stop().
class Listener {
 public:
  // `inherited`: sockets that listen already (socket activation), beside the addresses. Throws std::runtime_error with
  // one clear line (port in use, no such address). handler and log must outlive the listener.
  Listener(ListenerOptions options, HttpHandler& handler, Log& log, std::vector<Descriptor> inherited = {});
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Where it really listens, with the port that was chosen for port 0: "[::]:10068", "127.0.0.1:41234", "unix:/run/x".
  const std::vector<std::string>& bound() const;

  // Whether connections are looked after: what a watchdog asks.
  bool responds(std::chrono::milliseconds at_most);

  // Refuses new connections, gives answers under way up to `grace` to finish, ends. Idempotent.
  void stop(std::chrono::milliseconds grace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter
