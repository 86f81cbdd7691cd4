// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <string>

namespace igpu::exporter {

// As printf(3); at most 255 characters.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

// A share of time below this is shown as 0.0 %: idle.
inline constexpr double kIdleShare = 0.0005;

// Like gmtime_r(), which reads the file of the local time zone at its first call: in the sandbox that fails.
std::tm utc_of(std::time_t unix_seconds);

}  // namespace igpu::exporter
