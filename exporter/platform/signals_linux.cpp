// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>
#include <system_error>

#include "platform/signals.h"

namespace igpu::exporter {

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

}  // namespace igpu::exporter
