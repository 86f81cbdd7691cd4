// SPDX-License-Identifier: Apache-2.0
#include "http/listening_sockets.h"

#include <utility>

#include "http/listen.h"

namespace igpu::exporter {

ListeningSockets::ListeningSockets(std::vector<InheritedSocket> inherited,
                                   const std::vector<ListenAddress>& addresses) {
  for (InheritedSocket& socket : inherited) sockets_.push_back(std::move(socket.descriptor));
  for (const ListenAddress& address : addresses) {
    try {
      sockets_.push_back(listen_on(address, addresses));
    } catch (...) {
      remove_files();
      throw;
    }
    if (address.kind == ListenAddress::Kind::unix_socket) files_.push_back(address.path);
  }
}

ListeningSockets::~ListeningSockets() { remove_files(); }

std::vector<UniqueSocket> ListeningSockets::take_sockets() { return std::exchange(sockets_, {}); }

void ListeningSockets::remove_files() {
  for (const std::string& file : files_) remove_socket_file(file);
  files_.clear();
}

}  // namespace igpu::exporter
