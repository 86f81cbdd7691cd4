// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "igpu/level_zero.h"

namespace igpu {

// The live resources of a page by the place that created them. file: all of it, accepted by parse_level_zero_page().
std::vector<LevelZeroSite> live_level_zero_sites(std::span<const std::byte> file);

}  // namespace igpu
