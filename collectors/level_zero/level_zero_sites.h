// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "igpu/level_zero.h"

namespace igpu {

// The live resources of a page by the place in the program that created them. file: the whole file, which
// parse_level_zero_page() has accepted.
std::vector<LevelZeroSite> live_level_zero_sites(std::span<const std::byte> file);

}  // namespace igpu
