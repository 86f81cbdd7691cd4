// SPDX-License-Identifier: Apache-2.0
#include "platform/windows_headers.h"

namespace igpu::exporter {

std::string windows_error_text(DWORD error) {
  char text[512];
  constexpr DWORD kFlags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK;
  DWORD size = 0;
  for (const DWORD language : {DWORD{MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US)}, DWORD{0}}) {
    size = ::FormatMessageA(kFlags, nullptr, error, language, text, sizeof text, nullptr);
    if (size != 0) break;
  }
  while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '.')) --size;
  return size == 0 ? "error " + std::to_string(error) : std::string(text, size);
}

}  // namespace igpu::exporter
