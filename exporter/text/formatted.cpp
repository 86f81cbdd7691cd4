// SPDX-License-Identifier: Apache-2.0
#include "text/formatted.h"

#include <array>
#include <cstdarg>
#include <cstdio>

namespace igpu::exporter {

std::string formatted(const char* format, ...) {
  std::array<char, 256> text{};
  std::va_list values;
  va_start(values, format);
  (void)std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  return text.data();
}

}  // namespace igpu::exporter
