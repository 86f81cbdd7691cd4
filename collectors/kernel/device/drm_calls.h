// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "igpu/reading.h"

// The calls that collectors make on render nodes, as questions and answers, for simulated and replayed machines.
namespace igpu::drm {

inline constexpr std::string_view kThrottle = "i915-throttle";
inline std::string i915_query(std::uint64_t id) { return "i915-" + std::to_string(id); }
inline std::string i915_param(std::int32_t param) { return "i915-param-" + std::to_string(param); }
inline std::string xe_query(std::uint32_t query) { return "xe-" + std::to_string(query); }

// A query, in one of its two calls: the first for the size of the result, the second for the result. what: one of the
// above, or "xe-7-1" for one of several firmwares; empty for any other call. kThrottle has no result, and a parameter
// is one call whose result is a number.
struct Question {
  std::string what;
  bool for_size = false;
};
Question question(unsigned long request, const void* argument);

// The result of a query: its size or the queried number, and, unless for_size was set, its bytes.
struct Result {
  std::size_t number = 0;
  std::string_view bytes;
};
// What a successful call left in argument; the failure of an i915 query may be in its item.
Reading<Result> result_of(unsigned long request, const void* argument, bool for_size);
// Fills argument as the driver does. A failure with EINVAL where the result does not fit the question.
Reading<Unit> answer(unsigned long request, void* argument, bool for_size, const Result& result);
// The query fails. The error of an i915 query is in its item, and the call itself succeeds.
Reading<Unit> refuse(unsigned long request, void* argument, int error);

}  // namespace igpu::drm
