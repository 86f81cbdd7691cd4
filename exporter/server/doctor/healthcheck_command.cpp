// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include "cli/options.h"
#include "cli/output.h"
#include "platform/sockets.h"
#include "platform/thread.h"

namespace igpu::exporter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeout(3);  // container engines allow a check 30 s, Kubernetes 1 s by default
constexpr std::string_view kRequest = "GET /-/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + socket_error_text(error));
}

void wait_for(const UniqueSocket& socket, bool to_write, Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  if (!wait_until_ready(socket.get(), to_write, left))
    throw std::runtime_error("no answer within " + std::to_string(kTimeout.count()) + " s");
}

UniqueSocket connected(int family, const sockaddr* address, socklen_t size, Clock::time_point deadline) {
  UniqueSocket socket = open_socket(family);
  if (!socket) fail("socket", last_socket_error());
  if (::connect(socket.get(), address, size) == 0) return socket;
  // A UNIX socket returns EAGAIN if its backlog is full, i.e. nothing accepts connections.
  if (const int error = last_socket_error(); !is_connecting(error)) fail("connect", error);
  wait_for(socket, true, deadline);
  if (const int error = pending_error(socket.get()); error != 0) fail("connect", error);
  return socket;
}

UniqueSocket connect_unix(const std::string& path, Clock::time_point deadline) {
  sockaddr_storage name{};
  const socklen_t size = unix_name(path, name);
  return connected(name.ss_family, reinterpret_cast<const sockaddr*>(&name), size, deadline);
}

UniqueSocket connect_host(const std::string& host, std::uint16_t port, Clock::time_point deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  Addresses list;
  if (const int error = look_up(host, std::to_string(port).c_str(), hints, list); error != 0)
    throw std::runtime_error(host + ": " + lookup_error_text(error));
  for (const addrinfo* entry = list.get();; entry = entry->ai_next) {
    try {
      return connected(entry->ai_family, entry->ai_addr, static_cast<socklen_t>(entry->ai_addrlen), deadline);
    } catch (const std::runtime_error&) {
      if (entry->ai_next == nullptr) throw;
    }
  }
}

// Connects from this host to a listen address.
UniqueSocket connect_to(const ListenAddress& address, Clock::time_point deadline) {
  using Kind = ListenAddress::Kind;
  if (address.kind == Kind::unix_socket) return connect_unix(address.path, deadline);
  if (!address.is_every()) return connect_host(address.host, address.port, deadline);
  const bool ipv6 = address.kind == Kind::ipv6;
  try {
    return connect_host(ipv6 ? "::1" : "127.0.0.1", address.port, deadline);
  } catch (const std::runtime_error&) {
    if (address.kind != Kind::every) throw;
    return connect_host("::1", address.port, deadline);  // a host without IPv4
  }
}

// The start of the response, enough for its status; "" if the server closed the connection.
std::string read_start(const UniqueSocket& socket, Clock::time_point deadline) {
  wait_for(socket, true, deadline);
  if (send(socket.get(), kRequest) < 0) fail("send", last_socket_error());
  std::string answer;
  char piece[256];
  while (answer.size() < 12) {
    wait_for(socket, false, deadline);
    const std::ptrdiff_t size = receive(socket.get(), piece);
    if (size == 0) break;
    if (size > 0) {
      answer.append(piece, static_cast<std::size_t>(size));
    } else if (const int error = last_socket_error(); !is_try_again(error)) {
      fail("receive", error);
    }
  }
  return answer;
}

// "HTTP/1.1 200 OK" -> 200; 0 if it is not HTTP.
int http_status(std::string_view answer) {
  int status = 0;
  if (answer.starts_with("HTTP/1.") && answer.size() >= 12) {
    (void)std::from_chars(answer.data() + 9, answer.data() + 12, status);
  }
  return status;
}

// Throws std::runtime_error if the server is not ready. This client knows neither TLS nor passwords; with a web
// configuration every response but "not ready" shows a live server: 401, 400 for plain HTTP on a TLS port, a TLS alert.
void check(const ListenAddress& address, bool secured) {
  const Clock::time_point deadline = Clock::now() + kTimeout;
  const std::string answer = read_start(connect_to(address, deadline), deadline);
  const int status = http_status(answer);
  if (status == 200 || (secured && !answer.empty() && status < 500)) return;
  throw std::runtime_error(status != 0
                               ? "answered with status " + std::to_string(status)
                               : std::string(answer.empty() ? "closed the connection" : "the response is not HTTP"));
}

}  // namespace

int healthcheck(const Options& options) {
  block_broken_pipes();
  for (const ListenAddress& address : options.listen_addresses) {
    if (address.kind != ListenAddress::Kind::unix_socket && address.port == 0) {
      throw UsageError("healthcheck cannot know the port of " + address.text + ": set one with --web.listen-address");
    }
  }
  for (const ListenAddress& address : options.listen_addresses) {
    try {
      check(address, !options.web_config_file.empty());
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(address.text + ": " + error.what());
    }
  }
  return EXIT_SUCCESS;
}

}  // namespace igpu::exporter
