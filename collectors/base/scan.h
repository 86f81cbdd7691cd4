// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "igpu/words.h"

// Parsers for the small texts the kernel prints. Pure; no allocation; never read past the view; anything that is not
// exactly of the described shape is nullopt.
namespace igpu {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\0')) text.remove_suffix(1);
  return text;
}

// One number, blanks around it allowed, nothing else. Overflow is nullopt.
template <class Integer>
std::optional<Integer> scan_integer(std::string_view text, int base = 10) {
  text = trim(text);
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  if (text.empty()) return std::nullopt;
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}
inline std::optional<std::uint64_t> scan_u64(std::string_view text) { return scan_integer<std::uint64_t>(text); }
inline std::optional<std::int64_t> scan_i64(std::string_view text) { return scan_integer<std::int64_t>(text); }
inline std::optional<std::uint64_t> scan_hex(std::string_view text) { return scan_integer<std::uint64_t>(text, 16); }

// A decimal number such as "2.3283064365386962890625e-10"; finite.
inline std::optional<double> scan_double(std::string_view text) {
  text = trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Takes the prefix off the front of text, if it begins with it.
constexpr bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

constexpr std::string_view take_line(std::string_view& rest) { return take_until(rest, '\n'); }

// The last component of a path.
constexpr std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// In lower case, with zeros before it up to so many digits, without "0x".
inline std::string hexadecimal(std::uint64_t number, std::size_t digits = 1) {
  char text[16];
  const std::string written(text, std::to_chars(text, text + sizeof text, number, 16).ptr);
  return written.size() < digits ? std::string(digits - written.size(), '0') + written : written;
}

}  // namespace igpu
