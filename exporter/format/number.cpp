// SPDX-License-Identifier: Apache-2.0
#include "format/number.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace igpu::exporter {

void append_number(std::string& out, double value) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  char digits[32];
  char* const end = digits + sizeof digits;
  const bool integer = std::fabs(value) <= kExactIntegers && value == std::trunc(value);
  out.append(digits, integer ? std::to_chars(digits, end, static_cast<std::int64_t>(value)).ptr
                             : std::to_chars(digits, end, value).ptr);
}

void append_fixed(std::string& out, double value) {
  char digits[384];  // the largest double has 309 digits
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, 6).ptr);
}

}  // namespace igpu::exporter
