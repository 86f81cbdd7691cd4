// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>

#include "cli/flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "platform/own_process.h"
#include "platform/windows_headers.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

constexpr wchar_t kEventSource[] = L"SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\intel-gpu-exporter";
// Its messages 1 to 1000 are just the text that comes with an event.
constexpr wchar_t kMessageFile[] = L"%SystemRoot%\\System32\\EventCreate.exe";
constexpr std::chrono::seconds kStart(30), kStop(20);

struct CloseService {
  void operator()(SC_HANDLE handle) const { ::CloseServiceHandle(handle); }
};
using Service = std::unique_ptr<std::remove_pointer_t<SC_HANDLE>, CloseService>;

[[noreturn]] void service_failed(const std::string& what, DWORD error = ::GetLastError()) {
  const char* const hint = error == ERROR_ACCESS_DENIED ? "; run it as an administrator" : "";
  throw std::runtime_error(what + ": " + windows_error_text(error) + hint);
}

// As programs split their command line again: backslashes count only before a quote.
std::string quoted(const std::string& word) {
  std::string out = "\"";
  std::size_t backslashes = 0;
  for (const char c : word) {
    if (c == '\\') {
      ++backslashes;
      continue;
    }
    out.append(c == '"' ? 2 * backslashes + 1 : backslashes, '\\');
    backslashes = 0;
    out += c;
  }
  return out.append(2 * backslashes, '\\') + '"';
}

std::string command_line(const Options& options) {
  const std::string program = program_file();
  if (program.empty()) throw std::runtime_error("the program's own path is unknown");
  std::string line = quoted(program) + " serve";
  std::vector<std::string> words{"serve"};
  for (std::size_t i = 1; i < options.operands.size(); ++i) {
    words.push_back(options.operands[i]);
    line += ' ' + quoted(options.operands[i]);
  }
  (void)parse_command_line(words);  // throws UsageError: the service would only fail to start
  return line;
}

Service open_manager(DWORD access) {
  Service manager(::OpenSCManagerW(nullptr, nullptr, access));
  if (!manager) service_failed("the service manager");
  return manager;
}

void register_event_source() {
  HKEY key = nullptr;
  const LSTATUS opened =
      ::RegCreateKeyExW(HKEY_LOCAL_MACHINE, kEventSource, 0, nullptr, 0, KEY_SET_VALUE, nullptr, &key, nullptr);
  if (opened != ERROR_SUCCESS) service_failed("the event log", static_cast<DWORD>(opened));
  const DWORD types = EVENTLOG_ERROR_TYPE | EVENTLOG_WARNING_TYPE | EVENTLOG_INFORMATION_TYPE;
  (void)::RegSetValueExW(key, L"EventMessageFile", 0, REG_EXPAND_SZ, reinterpret_cast<const BYTE*>(kMessageFile),
                         sizeof kMessageFile);
  (void)::RegSetValueExW(key, L"TypesSupported", 0, REG_DWORD, reinterpret_cast<const BYTE*>(&types), sizeof types);
  (void)::RegCloseKey(key);
}

DWORD state_of(const Service& service) {
  SERVICE_STATUS status{};
  if (!::QueryServiceStatus(service.get(), &status)) service_failed("the service");
  return status.dwCurrentState;
}

bool reaches(const Service& service, DWORD state, std::chrono::seconds at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (state_of(service) != state) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    if (state == SERVICE_RUNNING && state_of(service) == SERVICE_STOPPED) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return true;
}

void configure(const Service& service) {
  wchar_t text[] = L"Serves metrics of Intel GPUs to Prometheus.";
  SERVICE_DESCRIPTIONW description{text};
  (void)::ChangeServiceConfig2W(service.get(), SERVICE_CONFIG_DESCRIPTION, &description);
  SC_ACTION restart{SC_ACTION_RESTART, 5000};
  SERVICE_FAILURE_ACTIONSW actions{};
  actions.dwResetPeriod = 24 * 3600;
  actions.cActions = 1;
  actions.lpsaActions = &restart;
  (void)::ChangeServiceConfig2W(service.get(), SERVICE_CONFIG_FAILURE_ACTIONS, &actions);
  wchar_t privileges[] = L"SeChangeNotifyPrivilege\0";  // two NULs end the list
  SERVICE_REQUIRED_PRIVILEGES_INFOW required{privileges};
  (void)::ChangeServiceConfig2W(service.get(), SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO, &required);
}

int install(const Options& options) {
  const std::wstring line = wide(command_line(options), CP_ACP);
  const Service manager = open_manager(SC_MANAGER_CREATE_SERVICE);
  const Service service(::CreateServiceW(manager.get(), kServiceName, L"Intel GPU exporter", SERVICE_ALL_ACCESS,
                                         SERVICE_WIN32_OWN_PROCESS, SERVICE_AUTO_START, SERVICE_ERROR_NORMAL,
                                         line.c_str(), nullptr, nullptr, nullptr, L"NT AUTHORITY\\LocalService", L""));
  if (!service && ::GetLastError() == ERROR_SERVICE_EXISTS)
    throw std::runtime_error("the service exists; remove it first: service remove");
  if (!service) service_failed("the service");
  configure(service);
  register_event_source();
  if (!::StartServiceW(service.get(), 0, nullptr)) service_failed("the service is installed, but does not start");
  if (!reaches(service, SERVICE_RUNNING, kStart))
    throw std::runtime_error(
        "the service is installed, but does not run; the event log \"Application\" has the reason");
  return print("The service intel-gpu-exporter is installed and runs.\n");
}

int remove() {
  const Service manager = open_manager(SC_MANAGER_CONNECT);
  const Service service(::OpenServiceW(manager.get(), kServiceName, SERVICE_STOP | SERVICE_QUERY_STATUS | DELETE));
  if (!service && ::GetLastError() == ERROR_SERVICE_DOES_NOT_EXIST)
    return print("There is no service intel-gpu-exporter.\n");
  if (!service) service_failed("the service");
  SERVICE_STATUS status{};
  (void)::ControlService(service.get(), SERVICE_CONTROL_STOP, &status);
  const bool stopped = reaches(service, SERVICE_STOPPED, kStop);
  if (!::DeleteService(service.get())) service_failed("the service");
  (void)::RegDeleteKeyW(HKEY_LOCAL_MACHINE, kEventSource);
  return print(stopped ? "The service intel-gpu-exporter is removed.\n"
                       : "The service intel-gpu-exporter is removed when it has stopped.\n");
}

// Runs Windows' own program for the firewall, without the PATH. Returns its exit status.
int netsh(const std::wstring& arguments) {
  std::wstring folder(MAX_PATH, L'\0');
  folder.resize(::GetSystemDirectoryW(folder.data(), MAX_PATH));
  const std::wstring program = folder + L"\\netsh.exe";
  std::wstring line = L"\"" + program + L"\" advfirewall firewall " + arguments;
  STARTUPINFOW start{};
  start.cb = sizeof start;
  PROCESS_INFORMATION started{};
  if (!::CreateProcessW(program.c_str(), line.data(), nullptr, nullptr, FALSE, CREATE_NO_WINDOW, nullptr, nullptr,
                        &start, &started)) {
    service_failed("netsh.exe");
  }
  const UniqueHandle process(started.hProcess), thread(started.hThread);
  (void)::WaitForSingleObject(started.hProcess, INFINITE);
  DWORD status = 1;
  (void)::GetExitCodeProcess(started.hProcess, &status);
  return static_cast<int>(status);
}

constexpr wchar_t kRule[] = L"name=intel-gpu-exporter";

int allow(const std::string& port) {
  const auto number = number_of<std::uint16_t>(port);
  if (!number || *number == 0) throw UsageError("service allow: " + port + " is not a port number");
  (void)netsh(std::wstring(L"delete rule ") + kRule);  // of another port
  const std::wstring rule =
      std::wstring(L"add rule ") + kRule + L" dir=in action=allow protocol=TCP localport=" + std::to_wstring(*number);
  if (netsh(rule) != 0) throw std::runtime_error("the firewall rejected the rule; run it as an administrator");
  return print("The firewall lets other machines reach TCP port " + port + ".\n");
}

int forbid() {
  (void)netsh(std::wstring(L"delete rule ") + kRule);  // fails without a rule, too
  if (netsh(std::wstring(L"show rule ") + kRule) == 0)
    throw std::runtime_error("the firewall kept the rule; run it as an administrator");
  return print("The firewall has no rule for intel-gpu-exporter.\n");
}

}  // namespace

int service_command(const Options& options) {
  const std::string& action = options.operands.front();
  if (action == "install") return install(options);
  if (action == "remove" && options.operands.size() == 1) return remove();
  if (action == "allow" && options.operands.size() <= 2)
    return allow(options.operands.size() == 2 ? options.operands.back() : "10068");
  if (action == "forbid" && options.operands.size() == 1) return forbid();
  throw UsageError("service install [-- FLAGS], service remove, service allow [PORT], or service forbid");
}

}  // namespace igpu::exporter
