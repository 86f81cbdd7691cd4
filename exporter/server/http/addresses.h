// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/message.h"

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

// Rejects DNS rebinding (421): a web page whose own name was pointed at this machine reads everything in the browser of
// whoever opens it, because to the browser both are one site. So a browser has to address this server by a name that
// only its owner can point here: a literal address, localhost, a name whose first label is this machine's name, or one
// given by --web.allowed-host. Other clients run no pages of strangers, and may use any name.
class HostCheck final : public HttpHandler {
 public:
  // next must outlive the check. allowed: --web.allowed-host. clients_are_known: true if every client must authenticate
  // at present; a browser sends passwords and certificates only to the name for which it has them.
  HostCheck(HttpHandler& next, std::vector<std::string> allowed, std::string machine,
            std::function<bool()> clients_are_known);

  void handle(const HttpRequest& request, HttpResponse& response) override;
  void answered(int status) override { next_.answered(status); }
  Event next_event() override { return next_.next_event(); }

 private:
  bool is_own_name(std::string_view host) const;

  HttpHandler& next_;
  const std::vector<std::string> allowed_;
  const std::string machine_;  // first label of the host name; "" if that is localhost
  const std::function<bool()> clients_are_known_;
};

// Throws std::invalid_argument: not a name as browsers send it, without scheme and port.
void check_allowed_host(std::string_view name);

}  // namespace igpu::exporter
