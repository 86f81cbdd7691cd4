// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "http/listen_address.h"

// What the listener needs to know of sockets and its server library does not tell.
namespace igpu::exporter {

// The host can bind IPv6 sockets.
bool host_has_ipv6();

// "HOST" resolved to one numeric address, IPv4 preferred; IPv6 comes in brackets. Throws std::runtime_error.
std::string resolve_host(const ListenAddress& address);

// Removes the socket file that an earlier process left behind. Throws std::runtime_error if somebody still listens on
// it or if the path is something else.
void remove_stale_unix_socket(const std::string& path);

// Why nothing can listen there ("Address already in use"); "" if it can now.
std::string why_not(const ListenAddress& address);

// Descriptors of this process that listen, ascending.
std::vector<int> listening_descriptors();

// "127.0.0.1:9100", "[::]:9100", "unix:/run/x"
std::string local_address(int descriptor);

// Makes a listening socket refuse connections while its number stays taken: `silent` (something that never becomes
// readable) takes its place, so that a thread polling the number sees nothing more.
void silence(int listening, int silent);

}  // namespace igpu::exporter
