// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>

namespace igpu {

// In lower case, with zeros before it up to so many digits, without "0x".
inline std::string hexadecimal(std::uint64_t number, std::size_t digits = 1) {
  char text[16];
  const std::string written(text, std::to_chars(text, text + sizeof text, number, 16).ptr);
  return written.size() < digits ? std::string(digits - written.size(), '0') + written : written;
}

}  // namespace igpu
