// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

#include "igpu/unique_fd.h"

namespace igpu::exporter {

// epoll with a way to interrupt its wait. Descriptors are reported by the number with which they were added.
class Poller {
 public:
  static constexpr std::uint64_t kWoken = 0;  // the number of wake()

  Poller();  // throws std::system_error

  void add(int descriptor, std::uint32_t events, std::uint64_t number) {
    control(EPOLL_CTL_ADD, descriptor, events, number);
  }
  void change(int descriptor, std::uint32_t events, std::uint64_t number) {
    control(EPOLL_CTL_MOD, descriptor, events, number);
  }
  void remove(int descriptor) { control(EPOLL_CTL_DEL, descriptor, 0, 0); }

  // Waits at most that many milliseconds; -1: no limit. The result is valid until the next call.
  std::span<const epoll_event> wait(int at_most);
  void wake() const;  // thread-safe

 private:
  void control(int operation, int descriptor, std::uint32_t events, std::uint64_t number);

  UniqueFd epoll_;
  UniqueFd wake_;
  std::array<epoll_event, 64> events_{};
};

}  // namespace igpu::exporter
