// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "igpu/unique_fd.h"

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
  explicit Stream(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

std::unique_ptr<Stream> plain_stream(UniqueFd socket);
std::unique_ptr<Stream> tls_stream(UniqueFd socket, std::shared_ptr<SSL_CTX> context);

// Whether unread bytes have arrived.
bool has_bytes(int socket);
// Whether the client has reset the connection. What it sent before is still read without an error.
bool is_reset(int socket);
// Whether the client will send nothing more: it has reset the connection, or closed its sending half.
bool has_ended(int socket);

}  // namespace igpu::exporter
