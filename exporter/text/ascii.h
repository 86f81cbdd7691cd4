// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "igpu/words.h"

// Text of protocols and files, whose keywords are ASCII whatever the locale is.
namespace igpu::exporter {

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

}  // namespace igpu::exporter
