// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "http/listen_address.h"
#include "service/descriptor.h"

// Listening sockets.
namespace igpu::exporter {

// The host can bind IPv6 sockets.
bool host_has_ipv6();

// A non-blocking socket that listens there. ":PORT" takes IPv6 and IPv4 where the host has both, and so does
// "[::]:PORT", as with other exporters, unless one of the others (all: the addresses that are listened on) is there for
// IPv4; a socket file that an earlier process left behind is taken over. Throws std::runtime_error with one clear line.
Descriptor listen_on(const ListenAddress& address, const std::vector<ListenAddress>& all);

// "127.0.0.1:9100", "[::]:9100", "unix:/run/x"
std::string local_address(int descriptor);

// The path of a UNIX socket that has one; "" for all others.
std::string socket_path(int descriptor);

}  // namespace igpu::exporter
