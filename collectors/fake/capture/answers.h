// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "igpu/capture.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/perf_events.h"

// A capture: the collectors' questions to the machine and its answers, for each pass.
namespace igpu::capture {

enum class AnswerKind {
  content,  // text: of a file, or the result of a DRM query
  cut,      // text: the start of a file; the reader wanted no more
  done,     // something was opened
  names,    // of a directory
  link,     // text: its target
  name,     // text: of a user or a PCI device
  numbers,  // facts of a file, values of an event, a privilege
  absent,
  failure,  // text: where
  named,    // text and numbers: of an adapter, an engine, a process
};

struct Answer {
  AnswerKind kind = AnswerKind::done;
  Nanoseconds at{};  // since the first pass began
  std::string text;
  std::vector<std::string> names;
  std::vector<std::uint64_t> numbers;
  Reason reason = Reason::kernel;
  int error = 0;

  bool has_content() const { return kind == AnswerKind::content || kind == AnswerKind::cut; }
};

// By question: a word for the operation, a blank and its object: "read sys/class/drm/card0/gt_act_freq_mhz".
using Answers = std::map<std::string, Answer, std::less<>>;

struct Pass {
  Nanoseconds start{};  // since the first pass began
  Answers answers;
};

// Makes a question. For a path below "sys", "proc" or "dev", word is "read", "open", "list", "link", "resolve" or
// "stat".
std::string question(std::string_view word, std::string_view about);
std::string_view word_of(std::string_view question);
std::string_view about_of(std::string_view question);
// prefix and path as one path in its shortest form; ".." stays.
std::string joined(std::string_view prefix, std::string_view path);

Answer numbers_answer(std::vector<std::uint64_t> numbers);
Answer text_answer(AnswerKind kind, std::string_view text);
Answer absent_answer(const Absent& absent);
Answer failure_answer(const Failure& failure);
template <class T>
Answer negative(const Reading<T>& reading) {
  return reading.is_absent() ? absent_answer(reading.absent()) : failure_answer(reading.failure());
}
// For an answer that is absent or a failure. An answer of the wrong kind for its question becomes a failure (EPROTO).
template <class T>
Reading<T> negative(const Answer& answer) {
  if (answer.kind == AnswerKind::absent) return Absent{answer.reason, answer.error};
  const bool failed = answer.kind == AnswerKind::failure;
  return Failure{std::error_code(failed ? answer.error : EPROTO, std::generic_category()), answer.text};
}

// The files of an archive. Content is a file, everything else a line of the pass's index.
CaptureFiles files_of(const std::vector<Pass>& passes);
// Throws CaptureError.
std::vector<Pass> passes_of(const CaptureFiles& files);

// What recording and replay must agree on.

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
