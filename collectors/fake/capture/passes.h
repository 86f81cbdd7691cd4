// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fake/capture/answers.h"
#include "fake/capture/asked_machine.h"

namespace igpu::capture {

// Keeps what a machine answers, pass by pass. Within one pass the same question has one answer. Its clock shows the
// time of the last answer that a capture keeps whatever processes exist, because replay has only these times. Any
// thread.
class Recorder final : public AnswerSource {
 public:
  explicit Recorder(const Clock& clock);
  void begin_pass();
  // Calls that arrive from now on are not recorded.
  std::vector<Pass> take_passes();
  std::size_t bytes() const { return bytes_; }  // of all answers so far, roughly

  // Searches the current pass only.
  std::optional<Answer> find(const std::string& key) override;
  Answer ask(const std::string& key, const std::function<Answer()>& machine) override;
  // The first answer to a question counts, unless it was cut off or did not fit.
  Answer keep(const std::string& key, Answer answer) override;
  Nanoseconds now() override;

 private:
  void keep_boot_time();

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
  explicit Replay(std::vector<Pass> passes);  // at least one
  void begin_pass();

  std::optional<Answer> find(const std::string& key) override;
  Answer ask(const std::string& key, const std::function<Answer()>& machine) override;
  Answer keep(const std::string&, Answer answer) override { return answer; }
  Nanoseconds now() override;

 private:
  const Answer* known_answer(const std::string& key);

  std::mutex mutex_;
  const std::vector<Pass> passes_;
  std::size_t current_ = 0;
  Nanoseconds shown_;
};

}  // namespace igpu::capture
