// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/token_bucket.h"
#include "igpu/units.h"

namespace igpu::exporter {

// --web.config.file: the file format that Prometheus exporters share (exporter-toolkit, docs/web-configuration.md).
// Settings have the toolkit's meaning; docs/web-config.md lists what is rejected here and accepted there.

enum class TlsVersion { tls10 = 0x0301, tls11, tls12, tls13 };  // their numbers in the protocol

enum class ClientAuth {
  none,                // no certificate is requested
  request,             // requested; none, or any, is accepted
  require_any,         // required, whatever CA signed it
  verify_if_given,     // optional, but must be signed by the client CA
  require_and_verify,  // required, and must be signed by the client CA
};

constexpr bool requires_certificate(ClientAuth type) {
  return type == ClientAuth::require_any || type == ClientAuth::require_and_verify;
}
constexpr bool verifies_certificate(ClientAuth type) {
  return type == ClientAuth::verify_if_given || type == ClientAuth::require_and_verify;
}

// A certificate, a chain or a key: in a separate file or inline in the configuration.
struct PemSource {
  std::string path;  // absolute or relative to the working directory; "" if inline
  std::string text;  // inline
  std::string key;   // its key in the configuration: "cert_file"
  std::size_t line = 0;
  bool empty() const { return path.empty() && text.empty(); }
  // For errors: "/etc/x/web.yml:3: key_file /etc/x/key.pem". where: the configuration.
  std::string name(const std::string& where) const {
    return where + ":" + std::to_string(line) + ": " + key + (path.empty() ? "" : " " + path);
  }
};

struct TlsSettings {
  PemSource certificate;
  PemSource private_key;
  PemSource client_ca;  // empty: the system's CAs
  ClientAuth client_auth = ClientAuth::none;
  std::vector<std::string> allowed_sans;  // empty: any
  TlsVersion min_version = TlsVersion::tls12;
  TlsVersion max_version = TlsVersion::tls13;
  // OpenSSL's names, in order; both empty: the defaults.
  std::vector<std::string> ciphers;        // up to TLS 1.2
  std::vector<std::string> tls13_ciphers;  // empty: all
  std::vector<std::string> groups;         // curves; empty: the defaults
  bool prefer_server_ciphers = true;
};

struct WebConfig {
  std::optional<TlsSettings> tls;
  std::vector<std::pair<std::string, std::string>> headers;  // for every response
  std::map<std::string, std::string, std::less<>> users;     // name -> bcrypt hash; empty: no authentication
  RateLimit rate_limit;
  bool ends_with_line_break = true;  // of the file; otherwise its last line may be incomplete
};

// What the server offers, in OpenSSL's names: those of the file, otherwise the defaults.
std::vector<std::string> offered_ciphers(const TlsSettings& tls);  // up to TLS 1.2
std::vector<std::string> offered_tls13_ciphers(const TlsSettings& tls);
std::vector<std::string> offered_groups(const TlsSettings& tls);

// text: the content of the file at path. Throws std::runtime_error with one line: "path:line: what is wrong and what is
// expected". Values that may be secret are never quoted.
WebConfig parse_web_config(std::string_view text, const std::string& path);

// The keys that became weaker (weaker.cpp), joined by ", "; "" if there are none. TLS must be on in both or off in
// both.
std::string weaker_keys(const WebConfig& before, const WebConfig& after);

// Content of the files named in the configuration, or its inline values.
struct TlsMaterial {
  std::string certificate;
  std::string private_key;
  std::string client_ca;

  TlsMaterial() = default;
  TlsMaterial(TlsMaterial&&) = default;
  TlsMaterial& operator=(TlsMaterial&&) = default;
  ~TlsMaterial();  // wipes the key
};

// A problem that does not prevent serving, for the log.
struct TlsWarning {
  std::string message;
  std::string hint;
};

struct TlsContext {
  // Ready for SSL_new() and SSL_set_accept_state(). It rejects clients that are not allowed during the handshake,
  // negotiates http/1.1 by ALPN, and supports neither session resumption (every connection is checked against the
  // current settings) nor renegotiation.
  std::shared_ptr<SSL_CTX> context;
  std::vector<TlsWarning> warnings;
};

// where: path of the configuration. Throws std::runtime_error with one line: which file, what is wrong, what fixes it.
TlsContext make_tls_context(const TlsSettings& settings, const TlsMaterial& material, const std::string& where);

// The highest accepted cost: each step doubles the time. 10 takes about 50 ms, 18 more than ten seconds.
inline constexpr unsigned kHighestBcryptCost = 18;

// "$2a$", "$2b$" or "$2y$", a cost of 4 to kHighestBcryptCost, and 53 characters of salt and hash.
bool is_bcrypt_hash(std::string_view text);

unsigned bcrypt_cost(std::string_view hash);  // hash: a valid bcrypt hash

// The time depends on the hash's cost only, not on the result. A password with a NUL never matches, as crypt would
// ignore the rest; as in every bcrypt, the first 72 bytes of a password count.
bool bcrypt_matches(std::string_view password, std::string_view hash);

// What differs between operating systems: the bcrypt hash of a password of at most 72 bytes, with the version, cost and
// salt of `setting`, which is a whole hash. Empty: not computed. On Linux by crypt(3), on Windows by libxcrypt's bcrypt
// alone.
std::string crypt_bcrypt(const char* password, const std::string& setting);

// A hash of that cost that no known password matches, for constant-time rejection.
std::string dummy_bcrypt_hash(unsigned cost);

}  // namespace igpu::exporter
