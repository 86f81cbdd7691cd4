// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "http/listen_address.h"
#include "platform/sockets.h"
#include "service/systemd.h"

namespace igpu::exporter {

// The listening sockets. They are opened at the start, because the sandbox allows no new sockets later.
class ListeningSockets {
 public:
  // inherited: from socket activation. Throws std::runtime_error with one clear line (port in use).
  ListeningSockets(std::vector<InheritedSocket> inherited, const std::vector<ListenAddress>& addresses);
  ~ListeningSockets();
  ListeningSockets(const ListeningSockets&) = delete;
  ListeningSockets& operator=(const ListeningSockets&) = delete;

  std::vector<UniqueSocket> take_sockets();  // call once; non-blocking sockets

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
