// SPDX-License-Identifier: Apache-2.0
#include "support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace igpu::test {
namespace {

using Clock = std::chrono::steady_clock;

int connected(int family, const void* address, socklen_t size, const sockaddr_in* from = nullptr) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw std::system_error(errno, std::generic_category(), "socket");
  if (from != nullptr && ::bind(socket, reinterpret_cast<const sockaddr*>(from), sizeof *from) != 0) {
    const int error = errno;
    ::close(socket);
    throw std::system_error(error, std::generic_category(), "bind");
  }
  if (::connect(socket, static_cast<const sockaddr*>(address), size) != 0) {
    const int error = errno;
    ::close(socket);
    throw std::system_error(error, std::generic_category(), "connect");
  }
  return socket;
}

}  // namespace

HttpConnection::HttpConnection(std::uint16_t port, std::string_view host, const char* from) {
  const std::string text(host);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    if (from != nullptr && ::inet_pton(AF_INET, from, &own.sin_addr) != 1) throw std::invalid_argument(from);
    socket_ = connected(AF_INET, &v4, sizeof v4, from == nullptr ? nullptr : &own);
    return;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1) throw std::invalid_argument(text);
  socket_ = connected(AF_INET6, &v6, sizeof v6);
}

HttpConnection::HttpConnection(const std::string& unix_path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, unix_path.c_str(), std::min(unix_path.size(), sizeof name.sun_path - 1));
  socket_ = connected(AF_UNIX, &name, sizeof name);
}

HttpConnection::~HttpConnection() {
  if (socket_ >= 0) ::close(socket_);
}

HttpConnection::HttpConnection(HttpConnection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

bool HttpConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

void HttpConnection::half_close() { ::shutdown(socket_, SHUT_WR); }

void HttpConnection::reset() {
  const linger now{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(std::exchange(socket_, -1));
}

void HttpConnection::shrink_receive_buffer() {
  const int size = 2048;
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

std::string HttpConnection::receive(std::chrono::milliseconds at_most) {
  std::string bytes;
  const auto until = Clock::now() + at_most;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready{socket_, POLLIN, 0};
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) <= 0) return bytes;
    char chunk[16384];
    const ssize_t size = ::recv(socket_, chunk, sizeof chunk, 0);
    if (size <= 0) return bytes;
    bytes.append(chunk, static_cast<std::size_t>(size));
  }
}

std::string HttpConnection::receive_reply(bool with_body) {
  std::string bytes;
  for (;;) {
    const HttpReply reply = parse_reply(bytes);
    const std::string length = reply.header("content-length");
    if (reply.status != 0 && (!with_body || (!length.empty() && reply.body.size() >= std::stoul(length)))) return bytes;
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, 15000) <= 0) return bytes;
    char chunk[16384];
    const ssize_t size = ::recv(socket_, chunk, sizeof chunk, 0);
    if (size <= 0) return bytes;
    bytes.append(chunk, static_cast<std::size_t>(size));
  }
}

bool HttpConnection::closed_within(std::chrono::milliseconds at_most) {
  const auto start = Clock::now();
  receive(at_most);
  return Clock::now() - start < at_most;
}

HttpReply parse_reply(std::string_view bytes) {
  HttpReply reply;
  const std::size_t head_end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.1 ") || head_end == std::string_view::npos) return reply;
  reply.head = bytes.substr(0, head_end);
  reply.body = bytes.substr(head_end + 4);
  std::string_view lines = reply.head;
  lines.remove_prefix(std::min(lines.find("\r\n"), lines.size()));
  while (lines.starts_with("\r\n")) {
    lines.remove_prefix(2);
    const std::string_view line = lines.substr(0, lines.find("\r\n"));
    lines.remove_prefix(line.size());
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) throw std::runtime_error("no header: " + std::string(line));
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!reply.headers.emplace(name, line.substr(colon + 2)).second) throw std::runtime_error("header twice: " + name);
  }
  reply.status = std::stoi(reply.head.substr(9, 3));
  return reply;
}

HttpReply http_get(std::uint16_t port, const std::string& target, const std::string& headers,
                   const std::string& method) {
  HttpConnection connection(port);
  connection.send(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n");
  return parse_reply(connection.receive());
}

std::string gunzip(std::string_view compressed) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::runtime_error("inflateInit2");
  std::string copy(compressed);
  stream.next_in = reinterpret_cast<Bytef*>(copy.data());
  stream.avail_in = static_cast<uInt>(copy.size());
  std::string text;
  int outcome = Z_OK;
  while (outcome == Z_OK) {
    char chunk[16384];
    stream.next_out = reinterpret_cast<Bytef*>(chunk);
    stream.avail_out = sizeof chunk;
    outcome = inflate(&stream, Z_NO_FLUSH);
    text.append(chunk, sizeof chunk - stream.avail_out);
  }
  const bool whole = outcome == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  if (!whole) throw std::runtime_error("not one whole gzip stream");
  return text;
}

}  // namespace igpu::test
