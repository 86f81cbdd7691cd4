// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "web_config/config.h"

namespace igpu::exporter {

// What the files named in the configuration contain, or what stands in it.
struct TlsMaterial {
  std::string certificate;
  std::string private_key;
  std::string client_ca;

  TlsMaterial() = default;
  TlsMaterial(TlsMaterial&&) = default;
  TlsMaterial& operator=(TlsMaterial&&) = default;
  ~TlsMaterial();  // wipes the key
};

struct TlsContext {
  // SSL_new() and SSL_set_accept_state() are all that is left to do: it refuses clients that are not allowed in during
  // the handshake, speaks http/1.1 by ALPN, resumes no sessions (each connection is checked against the settings of
  // its own time) and allows no renegotiation.
  std::shared_ptr<SSL_CTX> context;
  std::vector<std::string> warnings;  // works, but somebody should know: sentences for the log
};

// Throws std::runtime_error with one line: which file, what is wrong, what fixes it. where: "path" of the
// configuration.
TlsContext make_tls_context(const TlsSettings& settings, const TlsMaterial& material, const std::string& where);

}  // namespace igpu::exporter
