// SPDX-License-Identifier: Apache-2.0
// The numbers of resource kinds and functions in pages. They never change; new ones are added at the end.
#pragma once

#include <cstdint>

namespace igpu::level_zero {

enum class Kind : std::uint8_t {
#define LEVEL_ZERO_KIND(name) name,
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_KIND
  count
};

inline constexpr const char* kKindNames[] = {
#define LEVEL_ZERO_KIND(name) #name,
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_KIND
};

inline constexpr const char* kFunctionNames[] = {
#define LEVEL_ZERO_FUNCTION(name, ...) #name,
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_FUNCTION
};

enum class Act : std::uint8_t { create, destroy, append, extension };

// What a function does, and to which kind of resource (the first one if there are several).
struct FunctionAct {
  Act act;
  std::uint8_t kind;
};

inline constexpr FunctionAct kFunctionActs[] = {
#define LEVEL_ZERO_FUNCTION(name, act, kinds, kind, ...) {Act::act, kind},
#include "level_zero/tracker/api_table.inc"
#undef LEVEL_ZERO_FUNCTION
};

inline constexpr std::uint32_t kKinds = static_cast<std::uint32_t>(Kind::count);
inline constexpr std::uint32_t kFunctions = sizeof(kFunctionNames) / sizeof(kFunctionNames[0]);

}  // namespace igpu::level_zero
