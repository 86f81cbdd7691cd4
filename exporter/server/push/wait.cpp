// SPDX-License-Identifier: Apache-2.0
#include "server/push/wait.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace igpu::exporter {

PushWait::Ended PushWait::on(int fd, short events) const {
  for (;;) {
    std::array<pollfd, 2> watched{{{interrupt, POLLIN, 0}, {fd, events, 0}}};  // poll() skips negative descriptors
    const auto wait = std::min<std::chrono::milliseconds>(left(), std::chrono::hours(1));
    const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(wait.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (watched[0].revents != 0) return Ended::interrupted;
    if (ready != 0) return Ended::ready;
    if (left().count() == 0) return Ended::late;
  }
}

bool PushWait::over() const {
  pollfd watched{interrupt, POLLIN, 0};
  return left().count() == 0 || ::poll(&watched, 1, 0) > 0;
}

WakeUp::WakeUp() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!fd_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void WakeUp::raise() {
  const std::uint64_t one = 1;
  (void)!::write(fd_.get(), &one, sizeof one);
}

void WakeUp::clear() {
  std::uint64_t count = 0;
  (void)!::read(fd_.get(), &count, sizeof count);
}

bool WakeUp::raised() const {
  pollfd watched{fd_.get(), POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace igpu::exporter
