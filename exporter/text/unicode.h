// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

// Untrusted text that people see, whatever the locale is: names of processes, devices, files and libraries. Text in
// formats only has to be UTF-8: valid_utf8().
namespace igpu::exporter {

// Removes the first character of UTF-8 text, which is not empty, and returns it; U+FFFD for bytes that are not UTF-8.
char32_t take_character(std::string_view& text);
void append_character(std::string& out, char32_t character);

// What a terminal would execute, and what changes the order in which text is shown: control characters, marks of
// direction. Shown as kUnsafeShown.
bool is_unsafe(char32_t character);
inline constexpr char kUnsafeShown = '?';

// Cells of a terminal that it takes: 0 (combining marks, direction marks), 1 or 2 (East Asian wide characters, emoji).
int cell_width(char32_t character);
int cell_width(std::string_view text);

// One line of valid UTF-8: unsafe characters become '?', bytes that are not UTF-8 become U+FFFD, other characters
// without a width of their own are dropped. Cut after a whole character if it is longer than max_bytes.
std::string clean_text(std::string_view text, std::size_t max_bytes = std::numeric_limits<std::size_t>::max());

// The same text with U+FFFD for bytes that are not UTF-8.
std::string valid_utf8(std::string_view text);

// The beginning of valid UTF-8 that fits.
std::string cut_to_cells(std::string_view text, int cells);

// text padded with spaces to a width in cells.
std::string padded(std::string_view text, std::size_t width);

// For text and for attribute values in quotes, in HTML and in SVG. Unsafe characters, some of which XML forbids, become
// '?' as in clean_text(), except line ends.
std::string html_escaped(std::string_view text);

// The usual width of a terminal, and a comfortable line length.
inline constexpr std::size_t kTextWidth = 80;

// Appends text word by word to the last line of out; further lines begin at column indent. A word is never broken,
// however long. No newline at the end.
void append_wrapped(std::string& out, std::string_view text, std::size_t indent, std::size_t width = kTextWidth);

// The same with a list, "a, b, c": lines break between items only.
void append_wrapped(std::string& out, const std::vector<std::string>& items, std::size_t indent,
                    std::size_t width = kTextWidth);

}  // namespace igpu::exporter
