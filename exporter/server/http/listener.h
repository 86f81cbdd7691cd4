// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "igpu/log.h"
#include "platform/sockets.h"
#include "server/http/addresses.h"
#include "server/http/front.h"
#include "server/http/message.h"
#include "server/http/responder.h"

namespace igpu::exporter {

// Whether the host can bind IPv6 sockets.
bool host_has_ipv6();

// Returns a non-blocking listening socket. ":PORT" accepts IPv6 and IPv4 if the host has both, and so does "[::]:PORT",
// as in other exporters, unless another address in all covers IPv4. A socket file left by an earlier process is taken
// over. Throws std::runtime_error with one clear line.
UniqueSocket listen_on(const ListenAddress& address, const std::vector<ListenAddress>& all);

// "127.0.0.1:9100", "[::]:9100", "unix:/run/x"
std::string local_address(int descriptor);

// Those of these addresses that other machines can reach: all except loopback addresses and UNIX sockets.
std::vector<std::string> reachable_from_outside(const std::vector<std::string>& bound);

// The listening sockets. They are opened at the start, because the sandbox allows no new sockets later.
class ListeningSockets {
 public:
  // inherited: from socket activation. Throws std::runtime_error with one clear line (port in use).
  ListeningSockets(std::vector<UniqueSocket> inherited, const std::vector<ListenAddress>& addresses);
  ~ListeningSockets() { remove_files(); }
  ListeningSockets(const ListeningSockets&) = delete;
  ListeningSockets& operator=(const ListeningSockets&) = delete;

  std::vector<UniqueSocket> take_sockets() { return std::exchange(sockets_, {}); }  // call once; non-blocking sockets

  // Socket files stay when the program exits: the sandbox does not allow removing files. The next start takes them
  // over.
  void leave_files() { files_.clear(); }
  // Removes the socket files, so that a client that connects later finds no file instead of a socket that rejects it.
  void remove_files();

 private:
  std::vector<UniqueSocket> sockets_;
  std::vector<std::string> files_;  // only those that this program created, not inherited ones
};

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
