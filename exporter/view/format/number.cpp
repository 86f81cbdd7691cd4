// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <cstdint>

#include "view/format/text_writer.h"

namespace igpu::exporter {

namespace {

// Most numbers of a page are seconds, counted in nanoseconds: their digits are those of an integer, which takes a
// quarter of the time. A decimal of 15 digits is the only one of so few that reads back as this double, so it is the
// shortest. Returns null for all other numbers.
char* write_nanos(char* out, double value) {
  constexpr double kNanos = 1e9, kDigits = 1e15;
  constexpr double kLeast = 1e-3;  // std::to_chars prefers an exponent below it
  const double size = std::fabs(value);
  if (!(size >= kLeast && size < kDigits / kNanos)) return nullptr;
  const auto nanos = static_cast<std::uint64_t>(size * kNanos + 0.5);
  if (static_cast<double>(nanos) / kNanos != size) return nullptr;
  constexpr std::uint64_t kUnit = 1000000000;
  if (value < 0) *out++ = '-';
  out = std::to_chars(out, out + kNumberSize, nanos / kUnit).ptr;
  // With the unit in front, the fraction keeps its zeros.
  char* const end = std::to_chars(out, out + kNumberSize, kUnit + nanos % kUnit).ptr;
  *out = '.';
  out = end;
  while (out[-1] == '0') --out;
  return out;
}

}  // namespace

char* write_number(char* out, double value) {
  constexpr double kInt64Range = 9223372036854775808.0;  // 2^63
  if (value > -kInt64Range && value < kInt64Range && value == static_cast<double>(static_cast<std::int64_t>(value)))
    return std::to_chars(out, out + kNumberSize, static_cast<std::int64_t>(value)).ptr;
  if (char* const end = write_nanos(out, value)) return end;
  return std::to_chars(out, out + kNumberSize, value).ptr;
}

void append_number(std::string& out, double value) {
  char digits[kNumberSize];
  out.append(digits, write_number(digits, value));
}

void append_fixed(std::string& out, double value) {
  char digits[384];  // the largest double has 309 digits
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, 6).ptr);
}

}  // namespace igpu::exporter
