// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace igpu::exporter {

// The usual width of a terminal, and a comfortable line length.
inline constexpr std::size_t kTextWidth = 80;

// Appends text word by word to the last line of out; further lines begin at column indent. A word is never broken,
// however long. No newline at the end.
void append_wrapped(std::string& out, std::string_view text, std::size_t indent, std::size_t width = kTextWidth);

// The same with a list, "a, b, c": lines break between items only.
void append_wrapped(std::string& out, const std::vector<std::string>& items, std::size_t indent,
                    std::size_t width = kTextWidth);

// Characters, not bytes.
std::size_t text_width(std::string_view text);

}  // namespace igpu::exporter
