// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace igpu {

// Events of the `power` PMU (arch/x86/events/rapl.c).
struct RaplEvent {
  std::string_view event, domain;
};
inline constexpr RaplEvent kRaplEvents[] = {{"energy-gpu", "gpu"},
                                            {"energy-pkg", "package"},
                                            {"energy-cores", "cores"},
                                            {"energy-ram", "dram"},
                                            {"energy-psys", "psys"}};

inline constexpr double kJoulesPerCount =
    1.0 / (1ULL << 32);  // for all of these events on every processor; equal to .scale

}  // namespace igpu
