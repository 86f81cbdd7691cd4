// SPDX-License-Identifier: Apache-2.0
#pragma once

// Windows' own headers, in the only order that compiles, without macros named min, max and ERROR.
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOGDI
#define NOGDI
#endif
#include <winsock2.h>
#include <ws2tcpip.h>
// clang-format off: after winsock2.h
#include <windows.h>
// clang-format on

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace igpu::exporter {

struct CloseHandle {
  void operator()(HANDLE handle) const { ::CloseHandle(handle); }
};
using UniqueHandle = std::unique_ptr<std::remove_pointer_t<HANDLE>, CloseHandle>;  // null: none

// The system's text for an error: one line, in English if the system has it.
std::string windows_error_text(DWORD error);
// The number of errno for an error about a file; EIO: there is none, and windows_error_text() says more.
int errno_of(DWORD error);

std::wstring wide(std::string_view text, UINT code_page);  // CP_UTF8, or CP_ACP for what came from the command line

// The source of TerminationSignals: Ctrl-C, the end of the console and requests of the service manager.
HANDLE termination_event();  // stays signalled after the first request
void request_termination(int signal);

inline constexpr wchar_t kServiceName[] = L"intel-gpu-exporter";  // also the source in the event log "Application"

// One line of the program's log; its level becomes that of the event.
bool write_to_event_log(std::string_view line);

}  // namespace igpu::exporter
