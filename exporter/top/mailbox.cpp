// SPDX-License-Identifier: Apache-2.0
#include "top/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace igpu::exporter::top {

Mailbox::Mailbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void Mailbox::put(std::size_t host, HostFrame frame) {
  const std::lock_guard lock(mutex_);
  std::erase_if(frames_, [host](const auto& entry) { return entry.first == host; });
  frames_.emplace_back(host, std::move(frame));
  const std::uint64_t one = 1;
  (void)!::write(event_.get(), &one, sizeof one);
}

std::vector<std::pair<std::size_t, HostFrame>> Mailbox::take_frames() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  (void)!::read(event_.get(), &count, sizeof count);
  return std::exchange(frames_, {});
}

}  // namespace igpu::exporter::top
