// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <climits>
#include <stdexcept>

#include "platform/sockets.h"

namespace igpu::exporter {
namespace {

SOCKET handle(int socket) { return static_cast<SOCKET>(socket); }

// Before the first socket; Windows ends it with the process.
void start_winsock() {
  static const int started = [] {
    WSADATA data{};
    return ::WSAStartup(MAKEWORD(2, 2), &data);
  }();
  if (started != 0) throw std::runtime_error("Windows Sockets: " + windows_error_text(static_cast<DWORD>(started)));
}

UniqueSocket owned(SOCKET socket) { return UniqueSocket(socket == INVALID_SOCKET ? -1 : static_cast<int>(socket)); }

bool make_non_blocking(int socket) {
  u_long on = 1;
  return ::ioctlsocket(handle(socket), static_cast<long>(FIONBIO), &on) == 0;
}

// What the next read would give, without reading: the number of bytes, 0 at the end, -1 with last_socket_error().
int peek(int socket) {
  char byte = 0;
  return ::recv(handle(socket), &byte, 1, MSG_PEEK);
}

}  // namespace

void close_socket(int socket) { ::closesocket(handle(socket)); }

UniqueSocket open_socket(int family, int type) {
  start_winsock();
  UniqueSocket socket =
      owned(::WSASocketW(family, type, 0, nullptr, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT));
  if (socket && !make_non_blocking(socket.get())) return {};
  return socket;
}

int last_socket_error() { return ::WSAGetLastError(); }

std::string socket_error_text(int error) { return windows_error_text(static_cast<DWORD>(error)); }

bool is_try_again(int error) { return error == WSAEWOULDBLOCK || error == WSAEINTR; }

bool is_connecting(int error) { return error == WSAEWOULDBLOCK || error == WSAEINPROGRESS; }

bool is_out_of_resources(int error) { return error == WSAEMFILE || error == WSAENOBUFS; }

std::string lookup_error_text(int error) { return windows_error_text(static_cast<DWORD>(error)); }

int look_up(const std::string& host, const char* service, const addrinfo& hints, Addresses& list) {
  start_winsock();
  addrinfo* first = nullptr;
  const int error = ::getaddrinfo(host.c_str(), service, &hints, &first);
  list.reset(error == 0 ? first : nullptr);
  return error;
}

int pending_error(int socket) {
  int error = 0;
  int size = sizeof error;
  (void)::getsockopt(handle(socket), SOL_SOCKET, SO_ERROR, reinterpret_cast<char*>(&error), &size);
  return error;
}

bool set_option(int socket, int level, int name, int value) {
  return ::setsockopt(handle(socket), level, name, reinterpret_cast<const char*>(&value), sizeof value) == 0;
}

// SO_REUSEADDR lets any other program take the address here.
void own_address(int socket) { (void)set_option(socket, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1); }

UniqueSocket accept_connection(int listening, sockaddr_storage& client) {
  int size = sizeof client;
  UniqueSocket socket = owned(::accept(handle(listening), reinterpret_cast<sockaddr*>(&client), &size));
  if (!socket) return {};
  // It may have inherited the mode of the listening socket, and is inheritable.
  (void)::SetHandleInformation(reinterpret_cast<HANDLE>(handle(socket.get())), HANDLE_FLAG_INHERIT, 0);
  if (!make_non_blocking(socket.get())) return {};
  return socket;
}

std::ptrdiff_t receive(int socket, std::span<char> into) {
  return ::recv(handle(socket), into.data(), static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX)), 0);
}

std::ptrdiff_t send(int socket, std::string_view first, std::string_view second) {
  std::array<WSABUF, 2> pieces{};
  DWORD count = 0;
  for (const std::string_view piece : {first, second}) {
    if (piece.empty()) continue;
    pieces[count].buf = const_cast<char*>(piece.data());
    pieces[count++].len = static_cast<ULONG>(std::min<std::size_t>(piece.size(), INT_MAX));
  }
  DWORD sent = 0;
  if (::WSASend(handle(socket), pieces.data(), count, &sent, 0, nullptr, nullptr) != 0) return -1;
  return static_cast<std::ptrdiff_t>(sent);
}

void end_sending(int socket) { (void)::shutdown(handle(socket), SD_SEND); }

bool has_bytes(int socket) { return peek(socket) > 0; }

bool is_reset(int socket) {
  WSAPOLLFD state{handle(socket), 0, 0};
  if (::WSAPoll(&state, 1, 0) > 0 && (state.revents & (POLLERR | POLLNVAL)) != 0) return true;
  const int size = peek(socket);
  return size < 0 && !is_try_again(last_socket_error());
}

bool has_ended(int socket) { return is_reset(socket) || peek(socket) == 0; }

bool wait_until_ready(int socket, bool to_write, std::chrono::milliseconds at_most) {
  // select() and not WSAPoll(), which until Windows 10 2004 does not report a connection that was refused.
  fd_set wanted{}, failed{};
  wanted.fd_count = failed.fd_count = 1;
  wanted.fd_array[0] = failed.fd_array[0] = handle(socket);
  const auto milliseconds = std::max<std::int64_t>(at_most.count(), 0);
  timeval timeout{static_cast<long>(milliseconds / 1000), static_cast<long>(milliseconds % 1000 * 1000)};
  const int ready = ::select(0, to_write ? nullptr : &wanted, to_write ? &wanted : nullptr, &failed, &timeout);
  if (ready < 0) throw std::runtime_error("select: " + socket_error_text(last_socket_error()));
  return ready != 0;
}

socklen_t unix_name(const std::string& /*path*/, sockaddr_storage& /*name*/) {
  throw std::runtime_error("UNIX sockets are not supported on Windows; use 127.0.0.1:PORT");
}

bool is_unix_name(const sockaddr_storage& /*name*/) { return false; }

std::string unix_path(const sockaddr_storage& /*name*/) { return {}; }

void remove_stale_socket_file(const std::string& /*path*/) {}

void remove_socket_file(const std::string& /*path*/) {}

}  // namespace igpu::exporter
