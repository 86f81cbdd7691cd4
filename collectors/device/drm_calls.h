// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "igpu/reading.h"

// The calls that collectors make on render nodes, as questions and answers: for machines that are not real.
namespace igpu::drm {

inline constexpr std::string_view kThrottle = "i915-throttle";

// A query, in one of the two calls that make it: for the size, and for the result. what: "i915-4", "xe-0", kThrottle,
// which has no result, or "i915-param-42", whose only call is answered by one number; empty for another call.
struct Question {
  std::string what;
  bool for_size = false;
};
Question question(unsigned long request, const void* argument);

// The result of a query: its size or the number that it asks for, and, unless asked for_size, its bytes.
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
