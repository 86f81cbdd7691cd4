// SPDX-License-Identifier: Apache-2.0
#include "fake/capture/recorder.h"

#include <algorithm>
#include <cerrno>
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

}  // namespace igpu::capture
