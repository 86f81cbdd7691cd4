// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace igpu::exporter {

bool is_address(const std::string& host);  // of IPv4 or IPv6, perhaps with a zone, as PushAddress has it; not a name

// To which the process that talks to the receiver connects.
struct PushEndpoint {
  std::string host;  // a name or an IP address, without []
  std::uint16_t port = 0;
};

struct PushScheme {
  std::string_view name;
  std::uint16_t port;  // the default
  bool tls;
};

// A URL without user, query and fragment.
struct PushAddress {
  std::string scheme, host, path;  // host: without [], a zone as its number: "fe80::1%252"; path: "" or begins with /
  std::uint16_t port = 0;
  bool tls = false;

  std::string authority() const;  // "host:port", "[::1]:port"
};

// Throws std::invalid_argument with a reason that does not repeat a password; credentials_flag is named in it.
PushAddress parse_push_address(std::string_view url, std::initializer_list<PushScheme> schemes,
                               std::string_view credentials_flag);

inline constexpr std::string_view kOtlpCredentialsFlag = "--push.otlp.credentials";
inline constexpr std::string_view kMqttCredentialsFlag = "--push.mqtt.credentials";

// http:// and https://. A URL without a path gets /v1/metrics; another path is used as it is. Throws
// std::invalid_argument.
PushAddress parse_otlp_address(std::string_view url);

// mqtt:// and mqtts://, with the base of all topics as the path. Throws std::invalid_argument.
PushAddress parse_mqtt_address(std::string_view url);

// The route to an address.
struct PushRoute {
  PushAddress address;
  std::string proxy;            // URL of the proxy; "": none
  std::string_view proxy_user;  // "NAME:PASSWORD@" in the environment; only the process that connects copies it
  PushEndpoint endpoint;        // of the proxy, or of the address

  std::string proxy_with_user() const;
};

// The proxy comes from the environment, by the rules of curl: SCHEME_proxy or all_proxy, in lower or (except
// http_proxy) upper case, unless no_proxy has the host. Throws std::invalid_argument for a proxy other than http, https
// or socks5h.
using PushEnvironment = std::function<const char*(const char*)>;
PushRoute route_to(PushAddress address, const PushEnvironment& environment);

// The content of a file with credentials: a user, or HTTP headers.
struct PushCredentials {
  std::string user, password;
  std::vector<std::string> headers;  // "Authorization: Bearer abc"
};

// The text is one line NAME:PASSWORD, or lines "Header: value" with a blank after the colon; empty lines and those that
// begin with # are skipped. Throws std::invalid_argument; its reason does not quote the text.
PushCredentials parse_credentials(std::string_view text);

// A receiver's words, for the log: whoever gets the credentials may send them back.
std::string without_credentials(std::string text, const PushCredentials& credentials);

// Throws std::runtime_error with the path and the fix; also if every user of this machine can read the file.
PushCredentials read_credentials(const std::string& path);

// Certificates (PEM) to trust. Throws std::runtime_error with the path.
std::string read_authorities(const std::string& path);

}  // namespace igpu::exporter
