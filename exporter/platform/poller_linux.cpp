// SPDX-License-Identifier: Apache-2.0
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "igpu/unique_fd.h"
#include "platform/poller.h"

namespace igpu::exporter {
namespace {

static_assert(Poller::kRead == EPOLLIN && Poller::kWrite == EPOLLOUT && Poller::kError == EPOLLERR &&
              Poller::kHangUp == EPOLLHUP);

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

struct Poller::State {
  void control(int operation, int descriptor, std::uint32_t wanted, std::uint64_t number) const {
    epoll_event event{};
    event.events = wanted;
    event.data.u64 = number;
    (void)::epoll_ctl(epoll.get(), operation, descriptor, &event);
  }

  UniqueFd epoll, wake;
  std::array<epoll_event, 64> events{};
  std::array<Ready, 64> ready{};
};

Poller::Poller() : state_(std::make_unique<State>()) {
  state_->epoll = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!state_->epoll) fail("epoll_create1");
  state_->wake = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state_->wake) fail("eventfd");
  add(state_->wake.get(), EPOLLIN | EPOLLET, kWoken);  // edge-triggered: no read needed
}

Poller::~Poller() = default;

void Poller::add(int socket, std::uint32_t events, std::uint64_t number) {
  state_->control(EPOLL_CTL_ADD, socket, events, number);
}

void Poller::change(int socket, std::uint32_t events, std::uint64_t number) {
  state_->control(EPOLL_CTL_MOD, socket, events, number);
}

void Poller::remove(int socket) { state_->control(EPOLL_CTL_DEL, socket, 0, 0); }

void Poller::closing(int /*socket*/) {}

std::span<const Poller::Ready> Poller::wait(int at_most) {
  const auto& events = state_->events;
  const int count = ::epoll_wait(state_->epoll.get(), state_->events.data(), static_cast<int>(events.size()), at_most);
  const auto ready = static_cast<std::size_t>(std::max(count, 0));
  std::transform(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(ready), state_->ready.begin(),
                 [](const epoll_event& event) {
                   return Ready{event.data.u64, event.events};
                 });
  return std::span(state_->ready).first(ready);
}

void Poller::wake() const { (void)::eventfd_write(state_->wake.get(), 1); }

}  // namespace igpu::exporter
