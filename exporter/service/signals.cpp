// SPDX-License-Identifier: Apache-2.0
#include "service/signals.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace igpu::exporter {

TerminationSignals::TerminationSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) {
    throw std::system_error(error, std::generic_category(), "pthread_sigmask");
  }
  descriptor_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC));
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

}  // namespace igpu::exporter
