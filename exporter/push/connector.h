// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "igpu/unique_fd.h"
#include "push/address.h"
#include "push/wait.h"

// A process of its own creates the sockets and connects them: the exporter itself may do neither, because a filter of
// system calls cannot see the address (docs/sandbox.md). The two share a socket pair (SOCK_SEQPACKET).
namespace igpu::exporter {

// For the other process: connects to this endpoint on request until the other end of the socket is closed. The newest
// request counts.
void serve_connections(int socket, const PushEndpoint& endpoint);

// What loads the resolver's modules; for the other process, before its filter of system calls is on. The name need not
// resolve.
void prepare_to_resolve(const PushEndpoint& endpoint);

// Used by one thread, the only one of those outside collectors that the sandbox lets receive descriptors from this
// socket.
class Connector {
 public:
  Connector(int socket, PushEndpoint endpoint) : socket_(socket), endpoint_(std::move(endpoint)) {}

  struct Connected {
    UniqueFd socket;      // TCP, non-blocking
    std::string problem;  // one line with the fix, if there is none; "" after an interruption
  };
  Connected connect(const PushWait& wait);

 private:
  int socket_;
  PushEndpoint endpoint_;
  std::uint32_t serial_ = 0;
};

}  // namespace igpu::exporter
