// SPDX-License-Identifier: Apache-2.0
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "igpu/unique_fd.h"
#include "platform/alarm.h"

namespace igpu::exporter {

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
