// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "service/descriptor.h"

namespace igpu::exporter {

// One connection's bytes, in the clear or through TLS. Nothing here ever blocks.
class Stream {
 public:
  enum class Wants { nothing, to_read, to_write, to_end };  // to_end: the connection is of no further use
  struct Result {
    std::size_t bytes = 0;
    Wants wants = Wants::nothing;  // if bytes is 0: what the socket must be ready for before the next try
    bool end = false;              // the client sends no more; it may still read
  };

  virtual ~Stream() = default;
  int descriptor() const { return socket_.get(); }

  virtual Result handshake() { return {}; }  // first of all; once something has come
  virtual Result read(std::span<char> into) = 0;
  virtual bool pending() const { return false; }  // bytes are here that the socket does not tell of
  // One or two pieces; fewer bytes than there are may go.
  virtual Result write(std::string_view first, std::string_view second) = 0;
  virtual void finish() = 0;  // tells the client that nothing follows
  // What a client that speaks plain HTTP to a TLS port is to be told; valid after a handshake that failed.
  virtual bool spoke_plain_http() const { return false; }

 protected:
  explicit Stream(Descriptor socket) : socket_(std::move(socket)) {}
  Descriptor socket_;
};

std::unique_ptr<Stream> plain_stream(Descriptor socket);
std::unique_ptr<Stream> tls_stream(Descriptor socket, std::shared_ptr<SSL_CTX> context);

// Whether something has come that was not read yet.
bool has_bytes(int socket);

}  // namespace igpu::exporter
