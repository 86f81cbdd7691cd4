// SPDX-License-Identifier: Apache-2.0
#include "base/scan.h"

#include <cmath>

namespace igpu {

std::optional<double> scan_double(std::string_view text) {
  text = trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace igpu
