// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "platform/sockets.h"
#include "server/http/listen_address.h"

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

}  // namespace igpu::exporter
