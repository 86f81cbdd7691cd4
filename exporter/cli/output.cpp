// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <cstdio>
#include <cstdlib>

namespace igpu::exporter {

int print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? EXIT_SUCCESS : EXIT_FAILURE;
}

std::string terminal_safe(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (byte < 0x20 || byte == 0x7f) {
      safe += '?';
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080..U+009F are control characters, too
      safe += '?';
      ++i;
    } else {
      safe += text[i];
    }
  }
  return safe;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  std::size_t characters = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80U) ++characters;
  }
  if (characters < width) out.append(width - characters, ' ');
  return out;
}

}  // namespace igpu::exporter
