// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

namespace igpu::exporter {

// Like gmtime_r(), which reads the file of the local time zone at its first call: in the sandbox that fails.
std::tm utc_of(std::time_t unix_seconds);

}  // namespace igpu::exporter
