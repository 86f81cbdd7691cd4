// SPDX-License-Identifier: Apache-2.0
#include "server/http/addresses.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>

#include "platform/sockets.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw std::invalid_argument("listen address \"" + std::string(text) + "\": " + std::string(why) +
                              " (expected :PORT, HOST:PORT, [IPV6]:PORT or unix:/PATH)");
}

constexpr std::string_view kLocalhost = "localhost";

// Browsers send the Sec-Fetch headers only over TLS and to this machine, and Origin not with every request. A script
// can replace the User-Agent in some of them, but no script can remove Accept-Language, only empty it.
bool sent_by_browser(const HttpRequest& request) {
  return request.has_header("Sec-Fetch-Site") || request.has_header("Origin") ||
         request.has_header("Accept-Language") || request.header("User-Agent").starts_with("Mozilla/");
}

bool is_address(const std::string& text, int family) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(family, text.c_str(), address.data()) == 1;
}

std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const bool of_address = host.find(']', colon) != std::string_view::npos;
  return of_address ? host : host.substr(0, colon);
}

std::string_view first_label(std::string_view name) { return name.substr(0, name.find('.')); }

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

HostCheck::HostCheck(HttpHandler& next, std::vector<std::string> allowed, std::string machine,
                     std::function<bool()> clients_are_known)
    : next_(next),
      allowed_(std::move(allowed)),
      // As a first label, localhost would also accept localhost.example.
      machine_(equal_ignoring_case(first_label(machine), kLocalhost) ? "" : first_label(machine)),
      clients_are_known_(std::move(clients_are_known)) {}

void HostCheck::handle(const HttpRequest& request, HttpResponse& response) {
  if (!sent_by_browser(request) || is_own_name(request.header("Host")) || clients_are_known_()) {
    next_.handle(request, response);
  } else {
    response.fail(421, "browsers are not answered under this name; --web.allowed-host=NAME allows one");
  }
}

bool HostCheck::is_own_name(std::string_view host) const {
  std::string_view name = without_port(host);
  if (name.starts_with('[') && name.ends_with(']'))
    return is_address(std::string(name.substr(1, name.size() - 2)), AF_INET6);
  if (name.ends_with('.')) name.remove_suffix(1);  // fully qualified
  const auto is_it = [name](std::string_view other) { return equal_ignoring_case(name, other); };
  return is_it(kLocalhost) || is_address(std::string(name), AF_INET) ||
         (!machine_.empty() && equal_ignoring_case(first_label(name), machine_)) ||
         std::ranges::any_of(allowed_, is_it);
}

void check_allowed_host(std::string_view name) {
  const auto fits = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_'; };
  if (name.empty() || name.starts_with('.') || name.ends_with('.') || !std::ranges::all_of(name, fits))
    throw std::invalid_argument("\"" + std::string(name) + "\" is not a host name without scheme and port");
}

}  // namespace igpu::exporter
