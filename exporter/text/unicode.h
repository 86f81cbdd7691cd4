// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

// Untrusted text on the cells of a terminal, whatever the locale is.
namespace igpu::exporter {

// Removes the first character of UTF-8 text, which is not empty, and returns it; U+FFFD for bytes that are not UTF-8.
char32_t take_character(std::string_view& text);
void append_character(std::string& out, char32_t character);

// Cells that it takes: 0 (combining marks, direction marks), 1 or 2 (East Asian wide characters, emoji).
int cell_width(char32_t character);
int cell_width(std::string_view text);

// Valid UTF-8 without what a terminal would execute: control characters become '?', characters without a width of
// their own are dropped. Cut after a whole character if it is longer than max_bytes.
std::string clean_text(std::string_view text, std::size_t max_bytes = std::numeric_limits<std::size_t>::max());

}  // namespace igpu::exporter
