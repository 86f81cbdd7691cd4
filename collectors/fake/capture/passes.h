// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "fake/capture/answers.h"
#include "fake/capture/asked_machine.h"

namespace igpu::capture {

// Keeps what a machine answers, pass by pass. Within one pass the same question has one answer. Its clock shows the
// time of the last answer that a capture keeps whatever processes exist, because replay has only these times. Any
// thread.
class Recorder final : public AnswerSource {
 public:
  explicit Recorder(const Clock& clock) : clock_(clock), begin_(clock.now()) {
    passes_.emplace_back();
    keep_boot_time();
  }
  void begin_pass() {
    const std::lock_guard lock(mutex_);
    Pass pass;
    pass.start = shown_ = std::max(shown_, clock_.now() - begin_);
    passes_.push_back(std::move(pass));
    keep_boot_time();
  }
  // Calls that arrive from now on are not recorded.
  std::vector<Pass> take_passes() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    std::vector<Pass> taken = std::exchange(passes_, {});
    passes_.emplace_back();
    return taken;
  }
  std::size_t bytes() const { return bytes_; }  // of all answers so far, roughly

  // Searches the current pass only.
  std::optional<Answer> find(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    const auto known = passes_.back().answers.find(key);
    return known == passes_.back().answers.end() ? std::nullopt : std::optional(known->second);
  }
  Answer ask(const std::string& key, const std::function<Answer()>& machine) override {
    if (auto known = find(key); known && is_final(*known)) return *std::move(known);
    return keep(key, machine());
  }
  // The first answer to a question counts, unless it was cut off or did not fit.
  Answer keep(const std::string& key, Answer answer) override {
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
  // The limit in time works also while nothing is read that the clock knows.
  Nanoseconds now() override {
    const std::lock_guard lock(mutex_);
    const Nanoseconds time = clock_.now() - begin_;
    if (time > shown_ + kClientScanLimit) shown_ = time;
    return kFirstPass + shown_;
  }

 private:
  static bool is_final(const Answer& answer) {
    return answer.kind != AnswerKind::cut && !(answer.kind == AnswerKind::failure && answer.error == EFBIG);
  }

  // One for each pass, as on replay.
  void keep_boot_time() {
    const auto now = clock_.boot_now();
    if (!now) return;
    Answer boot;
    boot.kind = AnswerKind::numbers;
    boot.at = shown_;
    boot.numbers = {static_cast<std::uint64_t>(now->count())};
    passes_.back().answers.insert_or_assign(std::string(kBootTime), std::move(boot));
  }

  const Clock& clock_;
  const Nanoseconds begin_;
  std::mutex mutex_;
  std::vector<Pass> passes_;
  Nanoseconds shown_{};
  bool closed_ = false;
  std::atomic<std::size_t> bytes_ = 0;
};

// The answers of a capture. Every pass of the collectors gets the answers of the next pass of the capture; after the
// last one it stays as it is. A question that was not asked in a pass has the answer of the nearest earlier pass,
// otherwise of a later one; what was never asked does not exist. Any thread.
class Replay final : public AnswerSource {
 public:
  // passes: at least one
  explicit Replay(std::vector<Pass> passes) : passes_(std::move(passes)), shown_(passes_.front().start) {}
  void begin_pass() {
    const std::lock_guard lock(mutex_);
    if (current_ + 1 == passes_.size()) return;
    ++current_;
    shown_ = std::max(shown_, passes_[current_].start);
  }

  std::optional<Answer> find(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    const Answer* const known = known_answer(key);
    return known ? std::optional(*known) : std::nullopt;
  }
  Answer ask(const std::string& key, const std::function<Answer()>& /*machine*/) override {
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
  Answer keep(const std::string&, Answer answer) override { return answer; }
  Nanoseconds now() override {
    const std::lock_guard lock(mutex_);
    return kFirstPass + shown_;
  }

 private:
  // Of this pass, otherwise of the nearest earlier one, otherwise of a later one.
  const Answer* known_answer(const std::string& key) {
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

  std::mutex mutex_;
  const std::vector<Pass> passes_;
  std::size_t current_ = 0;
  Nanoseconds shown_;
};

}  // namespace igpu::capture
