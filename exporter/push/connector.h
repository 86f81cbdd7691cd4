// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "igpu/unique_fd.h"
#include "push/address.h"
#include "push/wait.h"

// A separate process creates the sockets and connects them: the exporter itself may do neither, because a filter of
// system calls cannot see the address (docs/sandbox.md). The two share a socket pair (SOCK_SEQPACKET).
namespace igpu::exporter {

// Runs in the other process: connects to this endpoint on request, until the other end of the socket is closed. A new
// request replaces an earlier one.
void serve_connections(int socket, const PushEndpoint& endpoint);

// Loads the resolver's modules. Called in the other process before its filter of system calls is on. The name need not
// resolve.
void prepare_to_resolve(const PushEndpoint& endpoint);

// Used by one thread: outside the collectors, it is the only thread that the sandbox allows to receive descriptors.
class Connector {
 public:
  Connector(int socket, PushEndpoint endpoint) : socket_(socket), endpoint_(std::move(endpoint)) {}

  struct Connected {
    UniqueFd socket;      // TCP, non-blocking
    std::string problem;  // if there is no socket: one line with the fix, or "" after an interruption
  };
  Connected connect(const PushWait& wait);

 private:
  int socket_;
  PushEndpoint endpoint_;
  std::uint32_t serial_ = 0;
};

}  // namespace igpu::exporter
