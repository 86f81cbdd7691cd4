// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

#include "service/descriptor.h"

namespace igpu::exporter {

// epoll, and a way to interrupt its wait. Descriptors are reported by the number that they were added with.
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

  // At most that many milliseconds; -1: no limit. Valid until the next call.
  std::span<const epoll_event> wait(int at_most);
  void wake() const;  // any thread

 private:
  void control(int operation, int descriptor, std::uint32_t events, std::uint64_t number);

  Descriptor epoll_;
  Descriptor wake_;
  std::array<epoll_event, 64> events_{};
};

}  // namespace igpu::exporter
