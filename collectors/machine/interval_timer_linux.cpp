// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "machine/interval_timer.h"

namespace igpu {
namespace {

timespec to_timespec(Nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  timespec result{};
  result.tv_sec = static_cast<time_t>(seconds.count());
  result.tv_nsec = static_cast<long>((time - seconds).count());
  return result;
}

UniqueFd checked(int fd, const char* call) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), call);
  return UniqueFd(fd);
}

UniqueFd started_timer(Nanoseconds interval, int flags) {
  UniqueFd timer = checked(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | flags), "timerfd_create");
  const itimerspec spec{to_timespec(interval), to_timespec(interval)};
  if (::timerfd_settime(timer.get(), 0, &spec, nullptr) != 0)
    throw std::system_error(errno, std::generic_category(), "timerfd_settime");
  return timer;
}

}  // namespace

IntervalTimer::IntervalTimer(Nanoseconds interval) : fd_(started_timer(interval, TFD_NONBLOCK)) {}

std::uint64_t IntervalTimer::expirations() {
  std::uint64_t count = 0;
  ssize_t size = 0;
  do size = ::read(fd_.get(), &count, sizeof(count));
  while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(sizeof(count)) ? count : 0;
}

bool IntervalTimer::wait(const std::stop_token& stop) const {
  const UniqueFd stopped =
      stop.stop_possible() ? checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd") : UniqueFd();
  const std::stop_callback wake(stop, [&] { (void)::eventfd_write(stopped.get(), 1); });
  pollfd files[] = {{fd_.get(), POLLIN, 0}, {stopped.get(), POLLIN, 0}};  // poll ignores -1
  for (;;) {
    const int ready = ::poll(files, 2, -1);
    if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    if (ready < 0) continue;
    if (stop.stop_requested()) return false;
    if (files[0].revents != 0) return true;
  }
}

TickTimer::TickTimer(Nanoseconds interval) : fd_(started_timer(interval, 0)) {}

std::uint64_t TickTimer::wait() {
  std::uint64_t count = 0;
  ssize_t size = 0;
  do size = ::read(fd_.get(), &count, sizeof(count));
  while (size < 0 && errno == EINTR && !stopped_);
  return size == static_cast<ssize_t>(sizeof(count)) && !stopped_ ? count : 0;
}

void TickTimer::stop() {
  stopped_ = true;
  // It expires at once and from then on all the time, so that no wait that begins later blocks.
  const itimerspec spec{{0, 1'000'000}, {0, 1}};
  (void)::timerfd_settime(fd_.get(), 0, &spec, nullptr);
}

SignalsBlocked::SignalsBlocked() {
  static_assert(sizeof(sigset_t) <= sizeof(before_));
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  // Those are for the thread that caused them.
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) ::sigdelset(&all, own);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  std::memcpy(before_, &before, sizeof(before));
}

SignalsBlocked::~SignalsBlocked() {
  sigset_t before;
  std::memcpy(&before, before_, sizeof(before));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace igpu
