// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "igpu/words.h"

namespace igpu::exporter {

// Text of protocols and files, whose keywords are ASCII whatever the locale is.

constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

inline std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_lower);
  return out;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return to_lower(x) == to_lower(y); });
}

constexpr bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return to_lower(a) == to_lower(b); }) != text.end();
}

constexpr bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// The characters of a name in HTTP (RFC 9110 section 5.6.2).
constexpr bool is_token(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    return is_letter_or_digit(c) || kMarks.find(c) != std::string_view::npos;
  });
}

// text without these characters at both ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// One number and nothing else. options: the base, or the form of a floating-point number.
template <class Number, class... Options>
std::optional<Number> number_of(std::string_view text, Options... options) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, options...);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Untrusted text that people see, whatever the locale is: names of processes, devices, files and libraries. Text in
// formats only has to be UTF-8: valid_utf8().

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

// As printf(3); at most 255 characters.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

// A share of time below this is shown as 0.0 %: idle.
inline constexpr double kIdleShare = 0.0005;

// As strftime(3), in UTC; at most 63 characters. The names are those of the locale C, as no other is chosen for times.
[[gnu::format(strftime, 2, 0)]] std::string utc_text(std::time_t unix_seconds, const char* format);

// 2026-11-22T04:37:56.123Z
std::string time_text(std::chrono::system_clock::time_point time);

// The candidate closest to a misspelled word: a few letters changed, missing, added or swapped. "" if none is close
// enough.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace igpu::exporter
