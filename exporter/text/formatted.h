// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace igpu::exporter {

// As printf(3); at most 255 characters.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

}  // namespace igpu::exporter
