// SPDX-License-Identifier: Apache-2.0
// The connection of an MQTT session over libcurl: TCP or, if the address has it, TLS, through the proxy if there is
// one.
#include <poll.h>

#include <memory>
#include <utility>

#include "server/push/mqtt_target.h"

namespace igpu::exporter {
namespace {

class CurlTransport final : public mqtt::Transport {
 public:
  CurlTransport(std::shared_ptr<CurlSession> session, std::unique_ptr<CurlSession::Attempt> attempt, int socket)
      : session_(std::move(session)), attempt_(std::move(attempt)), socket_(socket) {}

  void send(std::string_view bytes, const PushWait& wait) override {
    while (!bytes.empty()) {
      std::size_t sent = 0;
      const CURLcode code = session_->curl().easy_send(attempt_->handle(), bytes.data(), bytes.size(), &sent);
      // When a part of a message is sent, the connection is of no more use.
      if (code == CURLE_OK) {
        bytes.remove_prefix(sent);
        if (bytes.empty() || !wait.over()) continue;
        throw mqtt::SessionError(wait.left().count() == 0 ? "the receiver reads too slowly" : "interrupted");
      }
      if (code != CURLE_AGAIN) throw mqtt::SessionError(session_->problem_of(*attempt_, code));
      if (const PushWait::Ended ended = wait.on(socket_, POLLOUT); ended != PushWait::Ended::ready)
        throw mqtt::SessionError(ended == PushWait::Ended::late ? "the receiver does not read" : "interrupted");
    }
  }

  std::size_t receive(std::span<char> into, const PushWait& wait) override {
    while (!wait.over()) {
      std::size_t received = 0;
      // Before waiting: TLS may hold bytes that it has read already.
      const CURLcode code = session_->curl().easy_recv(attempt_->handle(), into.data(), into.size(), &received);
      if (code == CURLE_OK && received > 0) return received;
      if (code == CURLE_OK) throw mqtt::SessionError("the receiver closed the connection");
      if (code != CURLE_AGAIN) throw mqtt::SessionError(session_->problem_of(*attempt_, code));
      if (wait.on(socket_, POLLIN) != PushWait::Ended::ready) return 0;
    }
    return 0;
  }

 private:
  std::shared_ptr<CurlSession> session_;  // outlives the attempt
  std::unique_ptr<CurlSession::Attempt> attempt_;
  int socket_;
};

}  // namespace

MqttClient::Connect connect_by_curl(std::shared_ptr<CurlSession> session) {
  return
      [session = std::move(session)](const PushWait& wait, std::string& problem) -> std::unique_ptr<mqtt::Transport> {
        std::unique_ptr<CurlSession::Attempt> attempt = session->begin(wait, problem);
        if (!attempt) return nullptr;
        attempt->set(CURLOPT_CONNECT_ONLY, 1L);
        attempt->set(CURLOPT_FORBID_REUSE, 0L);  // libcurl would close the connection at once; the attempt's end does
        attempt->set(CURLOPT_HTTPPROXYTUNNEL, 1L);
        attempt->set(CURLOPT_SSL_ENABLE_ALPN, 0L);  // it would offer HTTP
        const std::optional<CURLcode> code = session->run(*attempt, wait);
        if (!code) return nullptr;
        curl_socket_t socket = CURL_SOCKET_BAD;
        if (*code == CURLE_OK) session->curl().easy_getinfo(attempt->handle(), CURLINFO_ACTIVESOCKET, &socket);
        if (socket != CURL_SOCKET_BAD) return std::make_unique<CurlTransport>(session, std::move(attempt), socket);
        problem = session->problem_of(*attempt, *code);
        return nullptr;
      };
}

}  // namespace igpu::exporter
