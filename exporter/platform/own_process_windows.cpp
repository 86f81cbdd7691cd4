// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <io.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "platform/own_process.h"
#include "platform/windows_headers.h"
// clang-format off: after windows.h
#include <psapi.h>
// clang-format on

namespace igpu::exporter {
namespace {

constexpr double kUnixEpoch = 11'644'473'600;  // seconds after 1601
constexpr double kMostHandles = 16'777'216;    // of one process, on every Windows since 2000

double seconds(const FILETIME& time) {
  return static_cast<double>((std::uint64_t{time.dwHighDateTime} << 32U) | time.dwLowDateTime) * 1e-7;
}

struct Times {
  FILETIME creation{}, exit{}, kernel{}, user{};
};

std::optional<Times> times() {
  Times now;
  if (!::GetProcessTimes(::GetCurrentProcess(), &now.creation, &now.exit, &now.kernel, &now.user)) return std::nullopt;
  return now;
}

}  // namespace

// Windows has no such limits for a process; a job may limit its memory, which is then an error of malloc().
std::optional<std::uint64_t> open_files_limit() { return std::nullopt; }
ProcessLimits process_limits() { return {}; }
void raise_open_files_limit(std::uint64_t /*wanted*/) {}
void reap_children() {}
void limit_allocator_arenas() {}
void return_freed_memory() {}

// What is still needed comes back from the system's cache.
void unmap_start_pages() { (void)::SetProcessWorkingSetSize(::GetCurrentProcess(), ~SIZE_T{0}, ~SIZE_T{0}); }

std::string user_name() {
  char name[257];
  DWORD size = sizeof name;
  return ::GetUserNameA(name, &size) && size > 0 ? std::string(name, size - 1) : "unknown";
}

std::string program_file() {
  std::string path(32'768, '\0');
  const DWORD size = ::GetModuleFileNameA(nullptr, path.data(), static_cast<DWORD>(path.size()));
  path.resize(size < path.size() ? size : 0);
  return path;
}

std::string own_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), 255) != 0 || name.front() == '\0') return "unknown";
  return name.data();
}

Nanoseconds boottime_offset() { return Nanoseconds(0); }  // the library's clock is the only one here

// No file gives a program rights that its caller lacks.
bool has_rights_of_its_file() { return false; }
bool is_set_id() { return false; }
CallersRights::CallersRights() = default;
CallersRights::~CallersRights() = default;

UsageReader::UsageReader() {
  if (const auto now = times()) started_ = seconds(now->creation) - kUnixEpoch;
}

// No number of threads: Windows has it only in a list of all threads of the machine.
ProcessUsage UsageReader::read() const {
  ProcessUsage usage;
  if (const auto now = times()) usage.cpu_seconds = seconds(now->kernel) + seconds(now->user);
  DWORD handles = 0;
  // 0: not told, as by Wine. No process is without a handle.
  if (::GetProcessHandleCount(::GetCurrentProcess(), &handles) && handles > 0) usage.open_files = handles;
  usage.most_open_files = kMostHandles;
  PROCESS_MEMORY_COUNTERS_EX memory{};
  memory.cb = sizeof memory;
  if (::GetProcessMemoryInfo(::GetCurrentProcess(), reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&memory),
                             sizeof memory)) {
    if (memory.PrivateUsage > 0) usage.virtual_bytes = static_cast<double>(memory.PrivateUsage);
    usage.resident_bytes = static_cast<double>(memory.WorkingSetSize);
  }
  return usage;
}

void prepare_standard_streams() {
  // Pages and CSV have no carriage returns on any system.
  for (std::FILE* const stream : {stdin, stdout, stderr}) {
    if (::_fileno(stream) >= 0) (void)::_setmode(::_fileno(stream), _O_BINARY);
  }
  // Names of programs may hold every character; what is printed is UTF-8.
  static const UINT before = ::GetConsoleOutputCP();  // the console outlives this program
  if (::SetConsoleOutputCP(CP_UTF8)) (void)std::atexit([] { (void)::SetConsoleOutputCP(before); });
}

// A service has no standard error: its lines go to the event log.
bool write_to_stderr(std::string_view text) {
  const HANDLE to = ::GetStdHandle(STD_ERROR_HANDLE);
  if (to == nullptr || to == INVALID_HANDLE_VALUE) return write_to_event_log(text);
  while (!text.empty()) {
    DWORD written = 0;
    if (!::WriteFile(to, text.data(), static_cast<DWORD>(text.size()), &written, nullptr)) return false;
    text.remove_prefix(written);
  }
  return true;
}

int terminal_columns() {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  const bool console = ::GetConsoleScreenBufferInfo(::GetStdHandle(STD_OUTPUT_HANDLE), &info) != 0;
  return console ? info.srWindow.Right - info.srWindow.Left + 1 : 0;
}

}  // namespace igpu::exporter
