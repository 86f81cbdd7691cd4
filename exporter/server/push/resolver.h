// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "igpu/unique_fd.h"
#include "platform/helper_socket.h"
#include "server/push/address.h"
#include "server/push/push_target.h"

// A separate process resolves the name of a receiver, so that the one that talks to the receiver needs neither UDP nor
// files of the name service (docs/sandbox.md).
namespace igpu::exporter {

// Loads the resolver's modules. Called in the resolving process before its filter of system calls is on. The name need
// not resolve.
void prepare_to_resolve(const PushEndpoint& endpoint);

// Runs in the resolving process: resolves this name on request, until the other end of the socket is closed.
void serve_addresses(int socket, const PushEndpoint& endpoint);

// Used by one thread of the process that talks to the receiver.
class Resolver {
 public:
  Resolver(UniqueFd socket, std::string host) : socket_(std::move(socket)), host_(std::move(host)) {}

  struct Resolved {
    std::vector<std::string> addresses;  // numeric, in the order in which to try them
    std::string problem;                 // if there are none: one line with the fix, or "" after an interruption
  };
  Resolved resolve(const PushWait& wait);

 private:
  HelperSocket socket_;
  std::string host_;
};

}  // namespace igpu::exporter
