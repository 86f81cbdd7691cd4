// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace igpu::exporter {

// As printf(3); at most 255 characters.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

// A share of time below this is shown as 0.0 %: idle.
inline constexpr double kIdleShare = 0.0005;

// As strftime(3), in UTC; at most 63 characters. The names are those of the locale C, as no other is chosen for times.
[[gnu::format(strftime, 2, 0)]] std::string utc_text(std::time_t unix_seconds, const char* format);

// 2026-11-22T04:37:56.123Z
std::string time_text(std::chrono::system_clock::time_point time);

// The candidate closest to a misspelled word: a few letters changed, missing, added or swapped. "" if none is close
// enough.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace igpu::exporter
