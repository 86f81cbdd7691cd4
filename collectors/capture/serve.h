// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "capture/answers.h"
#include "machine/machine.h"

// Answers of a capture in the form that the machine's interfaces give them. Recording serves them, too: what is asked
// twice in one pass is answered alike, as it will be on replay.
namespace igpu::capture {

// As Directory::read (whole) or read_start.
Reading<std::string_view> serve_read(const Answer& answer, std::span<char> buffer, bool whole);
Reading<Unit> serve_done(const Answer& answer);
Reading<std::string> serve_link(const Answer& answer);
Answer answer_of(const FileFacts& facts);
Reading<FileFacts> serve_facts(const Answer& answer);

// A query of a render node, in one of the two calls that make it: for the size, and for the result. what: "i915-4",
// "xe-0", "i915-throttle", which has no result, or "i915-param-42", whose only call is answered by one number; empty
// for another call.
struct DrmQuestion {
  std::string what;
  bool for_size = false;
};
DrmQuestion drm_question(unsigned long request, const void* argument);
// The answer that a successful call left in argument.
Answer drm_answer(unsigned long request, const void* argument, bool for_size);
// Fills argument. Absent EINVAL where the answer does not fit the question.
Reading<Unit> serve_drm(const Answer& answer, unsigned long request, void* argument, bool for_size);

}  // namespace igpu::capture
