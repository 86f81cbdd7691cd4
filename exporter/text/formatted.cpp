// SPDX-License-Identifier: Apache-2.0
#include "text/formatted.h"

#include <array>
#include <cstdarg>
#include <cstdio>

namespace igpu::exporter {

std::string formatted(const char* format, ...) {
  std::array<char, 256> text{};
  std::va_list values;
  va_start(values, format);
  (void)std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  return text.data();
}

std::string utc_text(std::time_t unix_seconds, const char* format) {
  // Not gmtime_r(), which reads the file of the local time zone at its first call: in the sandbox that fails.
  using namespace std::chrono;
  const sys_seconds time{seconds(unix_seconds)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss of_day(time - day);
  std::tm utc{};
  utc.tm_year = static_cast<int>(date.year()) - 1900;
  utc.tm_mon = static_cast<int>(static_cast<unsigned>(date.month())) - 1;
  utc.tm_mday = static_cast<int>(static_cast<unsigned>(date.day()));
  utc.tm_hour = static_cast<int>(of_day.hours().count());
  utc.tm_min = static_cast<int>(of_day.minutes().count());
  utc.tm_sec = static_cast<int>(of_day.seconds().count());
  utc.tm_wday = static_cast<int>(weekday(day).c_encoding());
  utc.tm_yday = static_cast<int>((day - sys_days(date.year() / January / 1)).count());
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &utc)};
}

std::string time_text(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
  return utc_text(ms / 1000, "%Y-%m-%dT%H:%M:%S.") + formatted("%03dZ", static_cast<int>(ms % 1000));
}

}  // namespace igpu::exporter
