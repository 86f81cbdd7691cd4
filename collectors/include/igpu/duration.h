// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "igpu/units.h"

namespace igpu {

// "500ms", "1s", "1.5s", "2m", "1h30m"; units ns, us, ms, s, m, h. A bare "0" is a duration, other bare numbers are
// not. Empty for everything else, for negative durations and for more than a year.
std::optional<Nanoseconds> parse_duration(std::string_view text);

}  // namespace igpu
