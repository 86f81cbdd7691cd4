// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/units.h"

// --web.config.file: the file format that Prometheus exporters share (exporter-toolkit, docs/web-configuration.md).
// What is said here of a file's meaning is what the toolkit does; where we refuse more than it does,
// docs/web-config.md lists it.
namespace igpu::exporter {

enum class TlsVersion { tls10, tls11, tls12, tls13 };

enum class ClientAuth {
  none,                // no certificate is asked for
  request,             // asked for; none, or any one, is fine
  require_any,         // one has to come; who signed it does not matter
  verify_if_given,     // none is fine; one that comes has to be signed by the client CA
  require_and_verify,  // one has to come that the client CA signed
};

// A certificate, a chain or a key: in a file of its own or written into the configuration.
struct PemSource {
  std::string path;  // absolute or relative to the working directory; "" if inline
  std::string text;  // inline
  std::string key;   // what it is called in the file: "cert_file"
  std::size_t line = 0;
  bool empty() const { return path.empty() && text.empty(); }
};

struct TlsSettings {
  PemSource certificate;
  PemSource private_key;
  PemSource client_ca;  // empty: the system's CAs verify
  ClientAuth client_auth = ClientAuth::none;
  std::vector<std::string> allowed_sans;  // empty: any
  TlsVersion min_version = TlsVersion::tls12;
  TlsVersion max_version = TlsVersion::tls13;
  // OpenSSL's names, in order; both empty: the usual ones.
  std::vector<std::string> ciphers;        // up to TLS 1.2
  std::vector<std::string> tls13_ciphers;  // empty: all
  std::vector<std::string> groups;         // curves; empty: the usual ones
  bool prefer_server_ciphers = true;
};

struct RateLimit {
  Nanoseconds interval{};  // one request for each; 0: no limit
  unsigned burst = 0;
  bool operator==(const RateLimit&) const = default;
};

struct WebConfig {
  std::optional<TlsSettings> tls;
  std::vector<std::pair<std::string, std::string>> headers;  // for every response
  std::map<std::string, std::string, std::less<>> users;     // name -> bcrypt hash; empty: no authentication
  RateLimit rate_limit;
  bool http2 = true;                 // allowed, not promised: every client that speaks HTTP/2 speaks HTTP/1.1, too
  bool ends_with_line_break = true;  // the file; otherwise its last line may have been cut
};

// What is offered in the end, in OpenSSL's names: what the file names, otherwise the usual ones.
std::vector<std::string> offered_ciphers(const TlsSettings& tls);  // up to TLS 1.2
std::vector<std::string> offered_tls13_ciphers(const TlsSettings& tls);
std::vector<std::string> offered_groups(const TlsSettings& tls);

// text: the content of the file at path. Throws std::runtime_error with one line: "path:line: what is wrong and what
// would be right". No value is ever quoted that may be a secret.
WebConfig parse_web_config(std::string_view text, const std::string& path);

}  // namespace igpu::exporter
