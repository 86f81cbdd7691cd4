// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>

#include "platform/thread.h"

namespace igpu::exporter {

void name_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

void block_broken_pipes() {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

void block_all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

struct EndPostponed::State {
  sigset_t before;
};

EndPostponed::EndPostponed() : state_(std::make_unique<State>()) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, &state_->before);
}

EndPostponed::~EndPostponed() { ::pthread_sigmask(SIG_SETMASK, &state_->before, nullptr); }

const int TerminationSignals::kRequest = SIGUSR1;

TerminationSignals::TerminationSignals(std::initializer_list<int> numbers) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : numbers) ::sigaddset(&set, number);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) {
    throw std::system_error(error, std::generic_category(), "pthread_sigmask");
  }
  descriptor_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!descriptor_) throw std::system_error(errno, std::generic_category(), "signalfd");
}

int TerminationSignals::wait() {
  for (;;) {
    signalfd_siginfo info{};
    if (::read(descriptor_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      return static_cast<int>(info.ssi_signo);
    }
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "signalfd");
  }
}

std::optional<int> TerminationSignals::wait(std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const auto poll_timeout = std::clamp<decltype(left)>(left, 0, std::numeric_limits<int>::max());
    pollfd waiting{descriptor_.get(), POLLIN, 0};
    const int count = ::poll(&waiting, 1, static_cast<int>(poll_timeout));
    if (count > 0) return wait();
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    if (left <= 0) return std::nullopt;
  }
}

struct Alarm::State {
  void set(const itimerspec& when) const { (void)::timerfd_settime(timer.get(), 0, &when, nullptr); }

  const UniqueFd timer{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)};
};

Alarm::Alarm() : state_(std::make_unique<State>()) {
  if (!state_->timer) throw std::system_error(errno, std::generic_category(), "timerfd_create");
}

Alarm::~Alarm() = default;

void Alarm::set(std::chrono::milliseconds after) {
  itimerspec when{};
  when.it_value.tv_sec = after.count() / 1000;
  when.it_value.tv_nsec = after.count() % 1000 * 1'000'000;
  state_->set(when);
}

void Alarm::cancel() { state_->set({}); }

void Alarm::wait() {
  std::uint64_t expirations = 0;
  while (::read(state_->timer.get(), &expirations, sizeof expirations) < 0 && errno == EINTR) {
  }
}

}  // namespace igpu::exporter
