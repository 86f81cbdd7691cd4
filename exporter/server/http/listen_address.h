// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace igpu::exporter {

// One value of --web.listen-address:
//   :10068            every address, IPv6 and IPv4
//   HOST:10068        a name or an IPv4 address
//   [::1]:10068       an IPv6 address; [::] also accepts IPv4, unless a HOST with the same port does
//   unix:/run/x.sock  a UNIX socket
struct ListenAddress {
  enum class Kind { every, host, ipv6, unix_socket };
  Kind kind = Kind::every;
  std::string host;  // host, ipv6 (without brackets)
  std::uint16_t port = 0;
  std::string path;  // unix_socket
  std::string text;  // as given, for messages

  // Every address, of one or of both protocols.
  bool is_every() const { return kind == Kind::every || host == "0.0.0.0" || host == "::"; }
};

// Throws std::invalid_argument with one clear line.
ListenAddress parse_listen_address(std::string_view text);

}  // namespace igpu::exporter
