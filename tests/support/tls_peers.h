// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

namespace igpu::test {

struct FreeSsl {
  void operator()(SSL* ssl) const;
  void operator()(SSL_CTX* context) const;
};

// A TLS server with a certificate of its own, which counts the handshakes that it begins.
struct TlsServer {
  TlsServer();
  std::shared_ptr<SSL_CTX> context;
  int hellos = 0;  // ClientHellos that were read completely: each costs a signature
};

// The first bytes that a TLS client sends.
std::string client_hello();

}  // namespace igpu::test
