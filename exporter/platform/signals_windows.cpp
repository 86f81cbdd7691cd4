// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "platform/signals.h"
#include "platform/termination_windows.h"

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

}  // namespace

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

}  // namespace igpu::exporter
