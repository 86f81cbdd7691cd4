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

}  // namespace igpu::capture
