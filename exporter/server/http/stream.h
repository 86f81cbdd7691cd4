// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "platform/sockets.h"

namespace igpu::exporter {

// One connection's bytes, plain or through TLS. Never blocks. With TLS, a client that sends many records without an
// answer in between loses its connection.
class Stream {
 public:
  enum class Wants { nothing, to_read, to_write, to_end };  // to_end: close the connection
  struct Result {
    std::size_t bytes = 0;
    Wants wants = Wants::nothing;  // if bytes is 0: what the socket must be ready for before the next try
    bool end = false;              // the client has closed its sending half; it may still read
  };

  virtual ~Stream() = default;
  int descriptor() const { return socket_.get(); }

  virtual Result handshake() { return {}; }  // call first, once bytes have arrived
  virtual Result read(std::span<char> into) = 0;
  virtual bool pending() const { return false; }  // decrypted bytes are buffered that the poller does not report
  // One or two pieces; may write fewer bytes than given.
  virtual Result write(std::string_view first, std::string_view second) = 0;
  virtual void finish() = 0;  // signals the end to the client
  // Whether the client sent plain HTTP to a TLS port; valid after a failed handshake.
  virtual bool spoke_plain_http() const { return false; }

 protected:
  explicit Stream(UniqueSocket socket) : socket_(std::move(socket)) {}
  UniqueSocket socket_;
};

std::unique_ptr<Stream> plain_stream(UniqueSocket socket);
std::unique_ptr<Stream> tls_stream(UniqueSocket socket, std::shared_ptr<SSL_CTX> context);

}  // namespace igpu::exporter
