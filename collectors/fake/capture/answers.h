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

}  // namespace igpu::capture
