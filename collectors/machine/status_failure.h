// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "igpu/reading.h"

namespace igpu {

// The failure of a call whose status has no outcome of its own; call: "D3DKMTQueryStatistics(node)".
inline Failure status_failure(std::uint32_t status, std::string_view call) {
  std::array<char, 8> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), status, 16).ptr;
  return {std::make_error_code(std::errc::io_error),
          std::string(call) + ": status 0x" + std::string(digits.data(), end)};
}

}  // namespace igpu
