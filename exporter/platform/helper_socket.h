// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

// Messages over the stream socket that this program shares with a process beside it.
namespace igpu::exporter {

// In the other process. False: the socket is closed.
inline bool receive_all(int socket, void* into, std::size_t size) {
  char* at = static_cast<char*>(into);
  while (size > 0) {
    const ssize_t got = ::recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// In this program, which waits no longer than it wants to: ready(events) waits for the socket (poll(2)), false if it
// does not any more. `done` says how far a message came.
enum class Exchange { done, given_up, ended };

template <class Ready>
Exchange send_rest(int socket, std::string_view message, std::size_t& done, Ready&& ready) {
  while (done < message.size()) {
    const ssize_t size = ::send(socket, message.data() + done, message.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size > 0) done += static_cast<std::size_t>(size);
    if (size >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return Exchange::ended;
    if (!ready(short{POLLOUT})) return Exchange::given_up;
  }
  return Exchange::done;
}

template <class Answer, class Ready>
Exchange receive_rest(int socket, Answer& answer, std::size_t& done, Ready&& ready) {
  char* const begin = static_cast<char*>(static_cast<void*>(&answer));
  while (done < sizeof answer) {
    const ssize_t got = ::recv(socket, begin + done, sizeof answer - done, MSG_DONTWAIT);
    if (got > 0) done += static_cast<std::size_t>(got);
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    if (got == 0 || errno != EAGAIN) return Exchange::ended;
    if (!ready(short{POLLIN})) return Exchange::given_up;
  }
  return Exchange::done;
}

}  // namespace igpu::exporter
