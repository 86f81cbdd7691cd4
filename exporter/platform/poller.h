// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace igpu::exporter {

// Waits for many sockets, with a way to interrupt the wait: epoll on Linux, WSAPoll() on Windows. Sockets are reported
// by the number with which they were added, for as long as they are ready. One thread at a time may call all but
// wake().
class Poller {
 public:
  static constexpr std::uint64_t kWoken = 0;  // the number of wake()

  // Events to watch for, and those that are ready. kError (the connection broke) and kHangUp (both halves are closed)
  // are always reported.
  static constexpr std::uint32_t kRead = 1, kWrite = 4, kError = 8, kHangUp = 16;

  struct Ready {
    std::uint64_t number;
    std::uint32_t events;
  };

  Poller();  // throws std::system_error
  ~Poller();

  void add(int socket, std::uint32_t events, std::uint64_t number);
  void change(int socket, std::uint32_t events, std::uint64_t number);
  void remove(int socket);
  // Call before a socket that was not removed is closed. (On Linux, closing it is enough.)
  void closing(int socket);

  // Waits at most that many milliseconds; -1: no limit. The result is valid until the next call.
  std::span<const Ready> wait(int at_most);
  void wake() const;  // thread-safe

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter
