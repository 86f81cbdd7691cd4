// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "http/listen_address.h"
#include "service/descriptor.h"
#include "service/systemd.h"

namespace igpu::exporter {

// The sockets that the program listens on, opened first of all: later nobody may open any.
class ListeningSockets {
 public:
  // inherited (socket activation) and addresses. Throws std::runtime_error with one clear line (port in use).
  ListeningSockets(std::vector<InheritedSocket> inherited, const std::vector<ListenAddress>& addresses);
  ~ListeningSockets();
  ListeningSockets(const ListeningSockets&) = delete;
  ListeningSockets& operator=(const ListeningSockets&) = delete;

  std::vector<Descriptor> take();  // once; non-blocking

  // Socket files stay when the program ends: the sandbox lets nobody remove a file. The next start takes them over.
  void leave_files() { files_.clear(); }
  // A client that connects later finds no file instead of a socket that refuses it.
  void remove_files();

 private:
  std::vector<Descriptor> sockets_;
  std::vector<std::string> files_;  // of our own making: an inherited one is somebody else's
};

}  // namespace igpu::exporter
