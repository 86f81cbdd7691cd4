// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace igpu::exporter {

// The candidate closest to a misspelled word: a few letters changed, missing, added or swapped. "" if none is close
// enough.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace igpu::exporter
