// SPDX-License-Identifier: Apache-2.0
#include "support/utf8.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace igpu::test {

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    const auto ones = static_cast<std::size_t>(std::countl_one(lead));  // of two bytes or more: its length
    const std::size_t length = ones == 0 ? 1 : ones;
    if (ones == 1 || length > 4 || length > text.size()) return false;
    std::uint32_t code = ones == 0 ? lead : lead & (0x7fu >> ones);
    for (const char c : text.substr(1, length - 1)) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte & 0xc0) != 0x80) return false;
      code = code << 6 | (byte & 0x3f);
    }
    const std::size_t shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (length != shortest || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace igpu::test
