// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "fake/capture/answers.h"
#include "machine/perf_events.h"

// What recording and replay must agree on.
namespace igpu::capture {

// The clock's time when the first pass begins.
inline constexpr Nanoseconds kFirstPass = std::chrono::hours(1);

// The question for Clock::boot_now() when a pass began.
inline constexpr std::string_view kBootTime = "clock boot";

// The question for Privileges::page_size(). Recorded only if it is not the usual one.
inline constexpr std::string_view kPageSize = "privilege page-size";

// Long enough for a scan of all processes on a slow machine, because a capture cannot be completed later.
inline constexpr Nanoseconds kClientScanLimit = std::chrono::seconds(30);

// The kernel's messages are not read: they may hold names of any kind. A capture records whether they could be opened.
inline constexpr std::string_view kUevents = "open uevents", kKernelLog = "open dev/kmsg";

// A capture leaves these out, because they have names of processes: debugfs, only a hint for the walk over /proc, and
// the contents of core dumps.
inline bool is_left_out(std::string_view about) {
  return about.starts_with("sys/kernel/debug") ||
         (about.starts_with("sys/class/devcoredump/") && about.ends_with("/data"));
}

// Questions about one process under Windows (fake/capture/asked_machine.h).
inline constexpr std::string_view kProcessFacts = "process.facts";
inline constexpr std::string_view kProcessRunning = "process.running", kProcessCommitted = "process.committed";

// Questions about a process's use of an adapter. A capture leaves out an answer of 0, unless another answer shows that
// the process uses an adapter.
inline bool is_use(std::string_view word) { return word == kProcessRunning || word == kProcessCommitted; }
inline bool is_none(const Answer& answer) {
  return answer.kind == AnswerKind::numbers && !answer.numbers.empty() && answer.numbers.front() == 0;
}

// Whether the clock advances to the time of this answer. It does not for answers that a capture leaves out.
inline bool advances_time(std::string_view question, const Answer& answer) {
  if (is_use(word_of(question)) && is_none(answer)) return false;
  if (is_left_out(about_of(question)) || question == kBootTime || question == kPageSize) return false;
  if (about_of(question).starts_with("proc"))
    return question.find("/fdinfo/") != std::string_view::npos && answer.has_content() &&
           answer.text.find("drm-driver:") != std::string::npos;
  return word_of(question) != "user";
}

inline std::string event_name(const PerfEventConfig& event, int cpu) {
  return std::to_string(event.type) + ':' + std::to_string(event.config) + ':' + std::to_string(cpu);
}

inline std::string pci_question(std::uint16_t vendor, std::uint16_t device) {
  return "pci " + std::to_string(vendor) + ':' + std::to_string(device);
}

}  // namespace igpu::capture
