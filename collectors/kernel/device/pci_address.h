// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace igpu {

// dddd:bb:ss.f, as the kernel writes it; the domain may have up to eight digits (VMD numbers them from 10000).
constexpr bool is_pci_address(std::string_view text) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  if (text.size() < 12 || text.size() > 16) return false;
  const std::size_t colon = text.size() - 8;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char expected = i == colon || i == colon + 3 ? ':' : i == colon + 6 ? '.' : '\0';
    if (expected != '\0' ? text[i] != expected : !is_hex(text[i])) return false;
  }
  return true;
}

}  // namespace igpu
