// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "platform/thread.h"
#include "platform/windows_headers.h"

namespace igpu::exporter {
namespace {

std::atomic<int> came{0};

HANDLE event() {
  static const HANDLE made = ::CreateEventW(nullptr, TRUE, FALSE, nullptr);  // until the process ends
  return made;
}

// On a thread of Windows'. Closing the console, logging off and shutting down end the process as soon as it returns:
// the program gets the time that Windows allows, five seconds for most.
BOOL WINAPI on_console_event(DWORD type) {
  request_termination(type == CTRL_C_EVENT || type == CTRL_BREAK_EVENT ? SIGINT : SIGTERM);
  if (type != CTRL_C_EVENT && type != CTRL_BREAK_EVENT) ::Sleep(INFINITE);
  return TRUE;
}

// Other timers follow the system's tick of up to 16 ms. Since Windows 10 1803, but not in every header.
constexpr DWORD kHighResolution = 2;

HANDLE make_timer() {
  const HANDLE precise = ::CreateWaitableTimerExW(nullptr, nullptr, kHighResolution, TIMER_ALL_ACCESS);
  return precise != nullptr ? precise : ::CreateWaitableTimerExW(nullptr, nullptr, 0, TIMER_ALL_ACCESS);
}

}  // namespace

// Since Windows 10 1607, but not in every import library.
void name_thread(const char* name) {
  using SetThreadDescription = HRESULT(WINAPI*)(HANDLE, PCWSTR);
  static const auto set = reinterpret_cast<SetThreadDescription>(
      reinterpret_cast<void*>(::GetProcAddress(::GetModuleHandleW(L"kernel32.dll"), "SetThreadDescription")));
  const std::string_view text(name);
  if (set != nullptr) (void)set(::GetCurrentThread(), std::wstring(text.begin(), text.end()).c_str());
}

void block_broken_pipes() {}
void block_all_signals() {}

struct EndPostponed::State {};
EndPostponed::EndPostponed() = default;
EndPostponed::~EndPostponed() = default;

const int TerminationSignals::kRequest = 0;

HANDLE termination_event() { return event(); }

void request_termination(int signal) {
  int none = 0;
  (void)came.compare_exchange_strong(none, signal);
  (void)::SetEvent(event());
}

TerminationSignals::TerminationSignals(std::initializer_list<int> /*numbers*/) {
  if (event() == nullptr || !::SetConsoleCtrlHandler(on_console_event, TRUE))
    throw std::system_error(static_cast<int>(::GetLastError()), std::system_category(), "SetConsoleCtrlHandler");
}

int TerminationSignals::wait() {
  (void)::WaitForSingleObject(event(), INFINITE);
  return came.load();
}

std::optional<int> TerminationSignals::wait(std::chrono::milliseconds timeout) {
  const auto limited = std::clamp<std::int64_t>(timeout.count(), 0, INFINITE - 1);
  if (::WaitForSingleObject(event(), static_cast<DWORD>(limited)) != WAIT_OBJECT_0) return std::nullopt;
  return came.load();
}

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
