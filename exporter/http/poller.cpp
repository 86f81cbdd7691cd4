// SPDX-License-Identifier: Apache-2.0
#include "http/poller.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace igpu::exporter {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_) fail("epoll_create1");
  if (!wake_) fail("eventfd");
  add(wake_.get(), EPOLLIN | EPOLLET, kWoken);  // edge-triggered: no read needed
}

std::span<const epoll_event> Poller::wait(int at_most) {
  const int ready = ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), at_most);
  return {events_.data(), static_cast<std::size_t>(std::max(ready, 0))};
}

void Poller::wake() const { (void)::eventfd_write(wake_.get(), 1); }

void Poller::control(int operation, int descriptor, std::uint32_t events, std::uint64_t number) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  (void)::epoll_ctl(epoll_.get(), operation, descriptor, &event);
}

}  // namespace igpu::exporter
