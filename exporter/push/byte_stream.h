// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "push/curl_session.h"

namespace igpu::exporter {

// A connection for a protocol that libcurl does not speak in full: TCP or, if the address has it, TLS, through the
// proxy if there is one. The session must outlive it, and has no other attempt meanwhile.
class ByteStream {
 public:
  // Null: problem says why ("" after an interruption).
  static std::unique_ptr<ByteStream> open(CurlSession& session, const PushWait& wait, std::string& problem);

  // All of it. False: see problem().
  bool send(std::string_view bytes, const PushWait& wait);
  // At least one byte; 0: late or interrupted (problem() is "" then), or the end of the connection.
  std::size_t receive(std::span<char> into, const PushWait& wait);

  const std::string& problem() const { return problem_; }  // "": the connection still works

 private:
  ByteStream(CurlSession& session, std::unique_ptr<CurlSession::Attempt> attempt, int socket)
      : session_(session), attempt_(std::move(attempt)), socket_(socket) {}

  CurlSession& session_;
  std::unique_ptr<CurlSession::Attempt> attempt_;
  int socket_;
  std::string problem_;
};

}  // namespace igpu::exporter
