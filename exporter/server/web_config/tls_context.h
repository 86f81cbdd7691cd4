// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/web_config/config.h"

namespace igpu::exporter {

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

}  // namespace igpu::exporter
