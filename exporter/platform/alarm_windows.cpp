// SPDX-License-Identifier: Apache-2.0
#include <system_error>

#include "platform/alarm.h"
#include "platform/windows_headers.h"

namespace igpu::exporter {
namespace {

// Other timers follow the system's tick of up to 16 ms. Since Windows 10 1803, but not in every header.
constexpr DWORD kHighResolution = 2;

HANDLE make_timer() {
  const HANDLE precise = ::CreateWaitableTimerExW(nullptr, nullptr, kHighResolution, TIMER_ALL_ACCESS);
  return precise != nullptr ? precise : ::CreateWaitableTimerExW(nullptr, nullptr, 0, TIMER_ALL_ACCESS);
}

}  // namespace

struct Alarm::State {
  State() = default;
  ~State() {
    if (timer != nullptr) ::CloseHandle(timer);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const HANDLE timer = make_timer();
};

Alarm::Alarm() : state_(std::make_unique<State>()) {
  if (state_->timer == nullptr)
    throw std::system_error(static_cast<int>(::GetLastError()), std::system_category(), "CreateWaitableTimerEx");
}

Alarm::~Alarm() = default;

void Alarm::set(std::chrono::milliseconds after) {
  LARGE_INTEGER due;
  due.QuadPart = -after.count() * 10'000;  // relative, in units of 100 ns
  (void)::SetWaitableTimer(state_->timer, &due, 0, nullptr, nullptr, FALSE);
}

void Alarm::cancel() {
  (void)::CancelWaitableTimer(state_->timer);
  (void)::WaitForSingleObject(state_->timer, 0);  // it may have expired already
}

void Alarm::wait() { (void)::WaitForSingleObject(state_->timer, INFINITE); }

}  // namespace igpu::exporter
