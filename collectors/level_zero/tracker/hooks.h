// SPDX-License-Identifier: Apache-2.0
// The functions that stand in for the driver's, one for each row of api_table.inc.
#pragma once

#include <cstdint>

#include "level_zero/tracker/api_table.h"

namespace igpu::level_zero {

// A function that replaces the driver's, and the place where it finds the driver's function.
struct Hook {
  void* function;
  void** next;
};

// The hook for a slot of the driver's table.
Hook table_hook(std::uint32_t function);
// The hook for a function that a driver returns by name. Its function is null if it is not tracked, or if too many
// drivers have it.
Hook extension_hook(const char* name, void* driver_function);
// Replaces the function pointer *place, unless it is null or was replaced before.
void replace(void** place, const Hook& hook);

}  // namespace igpu::level_zero
