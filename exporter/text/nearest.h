// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace igpu::exporter {

// The one of candidates that was probably meant by word: a few letters changed, left out, added or swapped. "" if none
// is near enough.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace igpu::exporter
