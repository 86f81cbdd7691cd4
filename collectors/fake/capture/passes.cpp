// SPDX-License-Identifier: Apache-2.0
#include "fake/capture/passes.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "fake/capture/pass_time.h"

namespace igpu::capture {
namespace {

bool is_final(const Answer& answer) {
  return answer.kind != AnswerKind::cut && !(answer.kind == AnswerKind::failure && answer.error == EFBIG);
}

}  // namespace

Recorder::Recorder(const Clock& clock) : clock_(clock), begin_(clock.now()) {
  passes_.emplace_back();
  keep_boot_time();
}

std::optional<Answer> Recorder::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto known = passes_.back().answers.find(key);
  return known == passes_.back().answers.end() ? std::nullopt : std::optional(known->second);
}

Answer Recorder::ask(const std::string& key, const std::function<Answer()>& machine) {
  if (auto known = find(key); known && is_final(*known)) return *std::move(known);
  return keep(key, machine());
}

Answer Recorder::keep(const std::string& key, Answer answer) {
  const std::lock_guard lock(mutex_);
  if (closed_) return answer;
  Answers& answers = passes_.back().answers;
  const auto known = answers.find(key);
  if (known != answers.end() && is_final(known->second)) return known->second;
  if (advances_time(key, answer)) shown_ = std::max(shown_, clock_.now() - begin_);
  answer.at = shown_;
  answers.insert_or_assign(key, answer);
  bytes_ += key.size() + answer.text.size() + 64;
  for (const std::string& name : answer.names) bytes_ += name.size() + 1;
  return answer;
}

void Recorder::begin_pass() {
  const std::lock_guard lock(mutex_);
  Pass pass;
  pass.start = shown_ = std::max(shown_, clock_.now() - begin_);
  passes_.push_back(std::move(pass));
  keep_boot_time();
}

// The limit in time works also while nothing is read that the clock knows.
Nanoseconds Recorder::now() {
  const std::lock_guard lock(mutex_);
  const Nanoseconds time = clock_.now() - begin_;
  if (time > shown_ + kClientScanLimit) shown_ = time;
  return kFirstPass + shown_;
}

std::vector<Pass> Recorder::take_passes() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  std::vector<Pass> taken = std::exchange(passes_, {});
  passes_.emplace_back();
  return taken;
}

// One for each pass, as on replay.
void Recorder::keep_boot_time() {
  const auto now = clock_.boot_now();
  if (!now) return;
  Answer boot;
  boot.kind = AnswerKind::numbers;
  boot.at = shown_;
  boot.numbers = {static_cast<std::uint64_t>(now->count())};
  passes_.back().answers.insert_or_assign(std::string(kBootTime), std::move(boot));
}

Replay::Replay(std::vector<Pass> passes) : passes_(std::move(passes)), shown_(passes_.front().start) {}

std::optional<Answer> Replay::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const Answer* const known = known_answer(key);
  return known ? std::optional(*known) : std::nullopt;
}

Answer Replay::ask(const std::string& key, const std::function<Answer()>&) {
  const std::lock_guard lock(mutex_);
  if (const Answer* const known = known_answer(key)) return *known;
  const std::string_view word = word_of(key);
  // A file that was read once, or kept open: both are the same to another version of a collector.
  if (word == "read") {
    if (const Answer* const opened = known_answer(question("open", about_of(key)))) return *opened;
  } else if (word == "open") {
    const Answer* const read = known_answer(question("read", about_of(key)));
    if (read) return read->has_content() ? Answer() : *read;
  } else if (word == "perf.open" || word == "perf.read") {
    // Of the event that was opened as often as this one; otherwise of the first.
    if (const Answer* const first = known_answer(key.substr(0, key.find('#')) + "#0")) return *first;
  } else if (word == "drm.size" || word == "drm.query") {
    // Drivers reject queries that they do not know.
    return failure_answer({std::error_code(EINVAL, std::generic_category()), "ioctl"});
  }
  return absent_answer({Reason::kernel, ENOENT});
}

void Replay::begin_pass() {
  const std::lock_guard lock(mutex_);
  if (current_ + 1 == passes_.size()) return;
  ++current_;
  shown_ = std::max(shown_, passes_[current_].start);
}

Nanoseconds Replay::now() {
  const std::lock_guard lock(mutex_);
  return kFirstPass + shown_;
}

// Of this pass, otherwise of the nearest earlier one, otherwise of a later one.
const Answer* Replay::known_answer(const std::string& key) {
  const auto in = [&](std::size_t pass) -> const Answer* {
    const auto known = passes_[pass].answers.find(key);
    return known == passes_[pass].answers.end() ? nullptr : &known->second;
  };
  if (const Answer* answer = in(current_)) {
    if (advances_time(key, *answer)) shown_ = std::max(shown_, answer->at);
    return answer;
  }
  for (std::size_t pass = current_; pass-- > 0;)
    if (const Answer* answer = in(pass)) return answer;
  for (std::size_t pass = current_ + 1; pass < passes_.size(); ++pass)
    if (const Answer* answer = in(pass)) return answer;
  return nullptr;
}

}  // namespace igpu::capture
