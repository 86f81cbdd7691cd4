// SPDX-License-Identifier: Apache-2.0
#include "push/byte_stream.h"

#include <poll.h>

namespace igpu::exporter {

std::unique_ptr<ByteStream> ByteStream::open(CurlSession& session, const PushWait& wait, std::string& problem) {
  std::unique_ptr<CurlSession::Attempt> attempt = session.begin(wait, problem);
  if (!attempt) return nullptr;
  attempt->set(CURLOPT_CONNECT_ONLY, 1L);
  attempt->set(CURLOPT_FORBID_REUSE, 0L);  // libcurl would close the connection at once; the attempt's end does
  attempt->set(CURLOPT_HTTPPROXYTUNNEL, 1L);
  attempt->set(CURLOPT_SSL_ENABLE_ALPN, 0L);  // it would offer HTTP
  const std::optional<CURLcode> code = session.run(*attempt, wait);
  if (!code) return nullptr;
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (*code == CURLE_OK) session.curl().easy_getinfo(attempt->handle(), CURLINFO_ACTIVESOCKET, &socket);
  if (socket == CURL_SOCKET_BAD) {
    problem = session.problem_of(*attempt, *code);
    return nullptr;
  }
  return std::unique_ptr<ByteStream>(new ByteStream(session, std::move(attempt), socket));
}

bool ByteStream::send(std::string_view bytes, const PushWait& wait) {
  while (!bytes.empty()) {
    std::size_t sent = 0;
    const CURLcode code = session_.curl().easy_send(attempt_->handle(), bytes.data(), bytes.size(), &sent);
    if (code == CURLE_OK) {
      bytes.remove_prefix(sent);
      if (bytes.empty() || !wait.over()) continue;
      problem_ = wait.left().count() == 0 ? "the receiver reads too slowly" : "interrupted";
      return false;
    }
    if (code != CURLE_AGAIN) {
      problem_ = session_.problem_of(*attempt_, code);
      return false;
    } else if (const PushWait::Ended ended = wait.on(socket_, POLLOUT); ended != PushWait::Ended::ready) {
      // A part of a message is sent: the connection is of no more use.
      problem_ = ended == PushWait::Ended::late ? "the receiver does not read" : "interrupted";
      return false;
    }
  }
  return true;
}

std::size_t ByteStream::receive(std::span<char> into, const PushWait& wait) {
  while (!wait.over()) {
    std::size_t received = 0;
    // Before waiting: TLS may hold bytes that it has read already.
    const CURLcode code = session_.curl().easy_recv(attempt_->handle(), into.data(), into.size(), &received);
    if (code == CURLE_OK && received > 0) return received;
    if (code != CURLE_AGAIN) {
      problem_ = code == CURLE_OK ? "the receiver closed the connection" : session_.problem_of(*attempt_, code);
      return 0;
    }
    if (wait.on(socket_, POLLIN) != PushWait::Ended::ready) return 0;
  }
  return 0;
}

}  // namespace igpu::exporter
