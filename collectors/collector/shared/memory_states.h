// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernel/clients/clients.h"

namespace igpu {

// The states of a client's memory in drm-usage-stats.rst, with their label values.
struct MemoryState {
  std::string_view label;
  std::optional<std::uint64_t> ClientMemory::*value;
};

inline constexpr std::array<MemoryState, 5> kMemoryStates{{{"total", &ClientMemory::total},
                                                           {"shared", &ClientMemory::shared},
                                                           {"active", &ClientMemory::active},
                                                           {"resident", &ClientMemory::resident},
                                                           {"purgeable", &ClientMemory::purgeable}}};

}  // namespace igpu
