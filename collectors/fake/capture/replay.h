// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fake/capture/answers.h"
#include "fake/capture/asked_machine.h"

namespace igpu::capture {

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
