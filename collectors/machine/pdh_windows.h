// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The part of pdh.h (Windows SDK, x64) that the exporter calls, and that the tests' own pdh implements.
namespace igpu::pdh {

static_assert(sizeof(void*) == 8, "the layouts are those of x64");

// PDH_RAW_COUNTER
struct RawCounter {
  std::uint32_t status;  // PDH_CSTATUS_VALID_DATA or PDH_CSTATUS_NEW_DATA: there is a value
  std::uint32_t time_low, time_high;
  std::int64_t first, second;
  std::uint32_t multi;
};
static_assert(sizeof(RawCounter) == 40 && offsetof(RawCounter, first) == 16);

inline constexpr std::uint32_t kNewData = 1;  // the greatest status that comes with a value

// PDH_RAW_COUNTER_ITEM_W. The names are in the same buffer, behind the last item.
struct Item {
  const char16_t* name;
  RawCounter value;
};
static_assert(sizeof(Item) == 48 && offsetof(Item, value) == 8);

using Handle = void*;

}  // namespace igpu::pdh
