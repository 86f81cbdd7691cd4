// SPDX-License-Identifier: Apache-2.0
// The functions that stand in for the driver's, one for each row of api_table.inc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracker/api_table.h"

namespace igpu::level_zero {

// Something to put where the driver's function stood, and where it keeps that one.
struct Hook {
  void* function;
  void** next;
};

// For a table's slot.
Hook table_hook(std::uint32_t function);
// For a function that a driver hands out by name. Null function: not tracked, or too many drivers have it.
Hook extension_hook(const char* name, void* driver_function);
// Replaces *place, unless that is empty or has been replaced already.
void replace(void** place, const Hook& hook);

}  // namespace igpu::level_zero
