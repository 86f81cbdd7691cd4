// SPDX-License-Identifier: Apache-2.0
#include "run/sleep_guard.h"

namespace igpu {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds kUnusedFor = 10s;  // not just between two frames, two files, or two commands at a terminal
constexpr Nanoseconds kMargin = 1s;      // the kernel's timers are rounded up, and suspending takes time

}  // namespace

GpuPower SleepGuard::judge(const Observation& seen, Nanoseconds now) {
  if (!seen.suspended.is_failure()) was_suspended_ = seen.suspended.value_or(false);
  if (was_suspended_) {
    unused_since_.reset();
    stays_awake_ = false;
    return GpuPower::suspended;
  }
  const bool unused = seen.autosuspend_delay > 0ns && seen.users && *seen.users == 0;
  if (!unused) {
    unused_since_.reset();
    stays_awake_ = false;
  } else if (!unused_since_) {
    unused_since_ = now;
  } else if (now - *unused_since_ >= kUnusedFor && !stays_awake_) {
    if (now - last_read_ < seen.autosuspend_delay + kMargin) return GpuPower::unused;
    stays_awake_ = true;
  }
  last_read_ = now;
  return GpuPower::awake;
}

}  // namespace igpu
