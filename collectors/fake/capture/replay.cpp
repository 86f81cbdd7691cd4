// SPDX-License-Identifier: Apache-2.0
#include "fake/capture/replay.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "fake/capture/pass_time.h"

namespace igpu::capture {

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
