// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "platform/windows_headers.h"
#include "server/service/systemd.h"

// The same calls as of systemd's protocol, for the service control manager. It starts the program by its command line
// ("... serve FLAGS"), and that it is a service shows when the program asks for its control requests.
namespace igpu::exporter {
namespace {

constexpr DWORD kStartHint = 30'000, kStopHint = 20'000;  // milliseconds

struct Manager {
  std::mutex mutex;
  SERVICE_STATUS_HANDLE handle = nullptr;  // null: this process is no service
  DWORD state = SERVICE_START_PENDING;
  bool ended_well = false;
  HANDLE known = ::CreateEventW(nullptr, TRUE, FALSE, nullptr);  // whether it is one
};

// Lives until the process ends: its threads are Windows' own.
Manager& manager() {
  static Manager& made = *new Manager;
  return made;
}

void report(DWORD state, DWORD error = NO_ERROR) {
  Manager& to = manager();
  const std::lock_guard lock(to.mutex);
  if (to.handle == nullptr || to.state == SERVICE_STOPPED) return;
  to.state = state;
  SERVICE_STATUS status{};
  status.dwServiceType = SERVICE_WIN32_OWN_PROCESS;
  status.dwCurrentState = state;
  status.dwControlsAccepted = state == SERVICE_RUNNING ? SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_PRESHUTDOWN : 0;
  status.dwWin32ExitCode = error == NO_ERROR ? NO_ERROR : ERROR_SERVICE_SPECIFIC_ERROR;
  status.dwServiceSpecificExitCode = error;
  const bool pending = state == SERVICE_START_PENDING || state == SERVICE_STOP_PENDING;
  status.dwCheckPoint = pending ? 1 : 0;
  status.dwWaitHint = state == SERVICE_START_PENDING ? kStartHint : state == SERVICE_STOP_PENDING ? kStopHint : 0;
  (void)::SetServiceStatus(to.handle, &status);
}

DWORD WINAPI on_control(DWORD control, DWORD /*type*/, void* /*data*/, void* /*context*/) {
  switch (control) {
    case SERVICE_CONTROL_STOP:
    case SERVICE_CONTROL_PRESHUTDOWN:
      report(SERVICE_STOP_PENDING);
      request_termination(SIGTERM);
      return NO_ERROR;
    case SERVICE_CONTROL_INTERROGATE: return NO_ERROR;
    default: return ERROR_CALL_NOT_IMPLEMENTED;
  }
}

void WINAPI run_service(DWORD /*count*/, wchar_t** /*arguments*/) {
  Manager& to = manager();
  {
    const std::lock_guard lock(to.mutex);
    to.handle = ::RegisterServiceCtrlHandlerExW(kServiceName, on_control, nullptr);
  }
  report(SERVICE_START_PENDING);
  (void)::SetEvent(to.known);
}

// Also after a failed start: without a last report the manager would wait, or call it a crash. An end that nobody asked
// for is a failure, so that the manager starts the service again if it is told to.
void report_end() { report(SERVICE_STOPPED, manager().ended_well ? NO_ERROR : EXIT_FAILURE); }

}  // namespace

std::vector<UniqueSocket> inherited_sockets(const Environment& /*environment*/, int /*first*/) { return {}; }

ServiceNotifier::ServiceNotifier(const Environment& /*environment*/) {
  Manager& to = manager();
  if (to.known == nullptr) return;
  std::thread([&to] {
    wchar_t name[] = L"intel-gpu-exporter";
    const SERVICE_TABLE_ENTRYW services[] = {{name, run_service}, {nullptr, nullptr}};
    (void)::StartServiceCtrlDispatcherW(services);  // returns at once if this is no service, otherwise after its end
    (void)::SetEvent(to.known);
  }).detach();
  (void)::WaitForSingleObject(to.known, kStartHint);
  if (connected()) std::atexit(report_end);
}

bool ServiceNotifier::connected() const {
  Manager& to = manager();
  const std::lock_guard lock(to.mutex);
  return to.handle != nullptr;
}

void ServiceNotifier::ready(std::string_view /*status*/) const { report(SERVICE_RUNNING); }
void ServiceNotifier::stopping(std::string_view /*status*/) const {
  manager().ended_well = true;
  report(SERVICE_STOP_PENDING);
}
void ServiceNotifier::alive() const {}
void ServiceNotifier::send(std::string_view /*message*/) const {}

void clear_service_environment() {}

}  // namespace igpu::exporter
