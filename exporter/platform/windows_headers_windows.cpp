// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "platform/windows_headers.h"

namespace igpu::exporter {
namespace {

WORD type_of(std::string_view line) {
  const auto has = [&](std::string_view level) { return line.find(level) != std::string_view::npos; };
  if (has(" level=error") || has("\"level\":\"error\"")) return EVENTLOG_ERROR_TYPE;
  if (has(" level=warn") || has("\"level\":\"warn\"")) return EVENTLOG_WARNING_TYPE;
  // A line without a level is not of the log: it says why the program ends.
  return has("level") ? EVENTLOG_INFORMATION_TYPE : EVENTLOG_ERROR_TYPE;
}

}  // namespace

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

int errno_of(DWORD error) {
  switch (error) {
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION: return EACCES;
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME: return ENOENT;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return EEXIST;
    default: return EIO;
  }
}

std::wstring wide(std::string_view text, UINT code_page) {
  const int bytes = static_cast<int>(text.size());
  std::wstring out(static_cast<std::size_t>(::MultiByteToWideChar(code_page, 0, text.data(), bytes, nullptr, 0)),
                   L'\0');
  (void)::MultiByteToWideChar(code_page, 0, text.data(), bytes, out.data(), static_cast<int>(out.size()));
  return out;
}

bool write_to_event_log(std::string_view line) {
  static const HANDLE source = ::RegisterEventSourceW(nullptr, kServiceName);  // until the process ends
  if (source == nullptr) return false;
  constexpr std::size_t kLongest = 30'000;  // characters of one string: ReportEvent() accepts 31,839
  const WORD type = type_of(line);
  if (line.ends_with('\n')) line.remove_suffix(1);
  const std::wstring text = wide(line.substr(0, kLongest), CP_UTF8);
  const wchar_t* strings[] = {text.c_str()};
  // Messages 1 to 1000 of EventCreate.exe, which service install registers, are just their text.
  return ::ReportEventW(source, type, 0, 1, nullptr, 1, 0, strings, nullptr) != 0;
}

}  // namespace igpu::exporter
