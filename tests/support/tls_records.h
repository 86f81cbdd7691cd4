// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace igpu::test {

// Encrypted records of a TLS client (1.2 or 1.3) with any content, also such as OpenSSL's client never sends. They are
// what comes after its Finished; from the first of them on the client itself must not send any more.
class TlsRecords {
 public:
  enum class Type : unsigned char { alert = 21, handshake = 22, data = 23 };

  // For the next connection that this client makes, with AES-128-GCM.
  explicit TlsRecords(SSL_CTX& client);
  TlsRecords(const TlsRecords&) = delete;
  TlsRecords& operator=(const TlsRecords&) = delete;

  std::string make(Type type, std::string_view content);

 private:
  void take_keys(const SSL& ssl, std::string_view line);

  bool is_tls13_ = false;
  std::string key_, iv_;
  std::uint64_t sequence_ = 0;
};

}  // namespace igpu::test
