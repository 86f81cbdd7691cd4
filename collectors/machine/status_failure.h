// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "base/hexadecimal.h"
#include "igpu/reading.h"

namespace igpu {

// The failure of a call whose status has no outcome of its own; call: "D3DKMTQueryStatistics(node)".
inline Failure status_failure(std::uint32_t status, std::string_view call) {
  return {std::make_error_code(std::errc::io_error), std::string(call) + ": status 0x" + hexadecimal(status)};
}

}  // namespace igpu
