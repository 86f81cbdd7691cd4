// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <io.h>

#include <cstdio>
#include <cstdlib>

#include "platform/own_process.h"
#include "platform/windows_headers.h"

namespace igpu::exporter {

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
