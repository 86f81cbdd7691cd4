// SPDX-License-Identifier: Apache-2.0
#include "server/push/wake_up.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace igpu::exporter {

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
