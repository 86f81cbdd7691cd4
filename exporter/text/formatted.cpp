// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

#include "text/text.h"

namespace igpu::exporter {
namespace {

// Edit distance: letters to change, insert, remove, or swap with their neighbour to turn a into b.
std::size_t distance(std::string_view a, std::string_view b) {
  // of[i][j]: from the first i letters of a to the first j of b.
  std::vector<std::vector<std::size_t>> of(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      of[i][j] = i + j;
      if (i == 0 || j == 0) continue;
      const std::size_t change = of[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      of[i][j] = std::min({change, of[i - 1][j] + 1, of[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        of[i][j] = std::min(of[i][j], of[i - 2][j - 2] + 1);
    }
  }
  return of[a.size()][b.size()];
}

constexpr std::size_t kMaximum = 64;  // a longer word is not a typing error

}  // namespace

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

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kMaximum) return {};
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t d = distance(word, candidate);
    if (d < best_distance) {
      best = &candidate;
      best_distance = d;
    }
  }
  return best == nullptr ? std::string() : *best;
}

}  // namespace igpu::exporter
