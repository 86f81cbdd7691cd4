// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "http/listen_address.h"
#include "platform/sockets.h"

// Listening sockets.
namespace igpu::exporter {

// Whether the host can bind IPv6 sockets.
bool host_has_ipv6();

// Returns a non-blocking listening socket. ":PORT" accepts IPv6 and IPv4 if the host has both, and so does "[::]:PORT",
// as in other exporters, unless another address in all covers IPv4. A socket file left by an earlier process is taken
// over. Throws std::runtime_error with one clear line.
UniqueSocket listen_on(const ListenAddress& address, const std::vector<ListenAddress>& all);

// "127.0.0.1:9100", "[::]:9100", "unix:/run/x"
std::string local_address(int descriptor);

}  // namespace igpu::exporter
