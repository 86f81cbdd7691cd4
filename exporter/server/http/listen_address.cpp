// SPDX-License-Identifier: Apache-2.0
#include "server/http/listen_address.h"

#include <stdexcept>

#include "text/ascii.h"

namespace igpu::exporter {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw std::invalid_argument("listen address \"" + std::string(text) + "\": " + std::string(why) +
                              " (expected :PORT, HOST:PORT, [IPV6]:PORT or unix:/PATH)");
}

}  // namespace

ListenAddress parse_listen_address(std::string_view text) {
  ListenAddress address;
  address.text = text;
  if (text.starts_with("unix:")) {
    address.kind = ListenAddress::Kind::unix_socket;
    address.path = text.substr(5);
    if (!address.path.starts_with('/')) refuse(text, "the path of a UNIX socket is absolute");
    if (address.path.size() > 106) refuse(text, "the path of a UNIX socket has at most 106 bytes");
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) refuse(text, "the port is missing");
  const auto port = number_of<std::uint16_t>(text.substr(colon + 1));
  if (!port) refuse(text, "the port is not a number from 0 to 65535");
  address.port = *port;
  std::string_view host = text.substr(0, colon);
  if (host.empty()) return address;
  if (host.front() == '[') {
    if (host.back() != ']' || host.size() < 3) refuse(text, "the closing bracket is missing");
    address.kind = ListenAddress::Kind::ipv6;
    address.host = host.substr(1, host.size() - 2);
    return address;
  }
  if (host.find(':') != std::string_view::npos) refuse(text, "an IPv6 address stands in brackets");
  address.kind = ListenAddress::Kind::host;
  address.host = host;
  return address;
}

}  // namespace igpu::exporter
