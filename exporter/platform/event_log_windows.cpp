// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "platform/event_log.h"
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
