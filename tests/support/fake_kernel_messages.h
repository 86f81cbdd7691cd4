// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "machine/kernel_messages.h"

namespace igpu::test {

// A queue that a test fills. calls: how often it was read.
class FakeKernelMessages final : public KernelMessages {
 public:
  Reading<KernelMessage> next(std::span<char> buffer) override {
    ++calls;
    if (failure != 0) return Failure{std::error_code(failure, std::generic_category()), "messages"};
    if (queue_.empty()) return KernelMessage{};
    const std::optional<std::string> text = std::move(queue_.front());
    queue_.pop_front();
    if (!text) return KernelMessage{KernelMessage::State::lost, {}};
    const std::size_t size = std::min(text->size(), buffer.size());
    std::copy_n(text->data(), size, buffer.data());
    return KernelMessage{KernelMessage::State::message, {buffer.data(), size}};
  }

  void add(std::string_view text) { queue_.emplace_back(text); }
  void lose() { queue_.emplace_back(std::nullopt); }
  std::size_t left() const { return queue_.size(); }

  std::size_t calls = 0;
  int failure = 0;  // errno

 private:
  std::deque<std::optional<std::string>> queue_;
};

// A uevent as the kernel sends it: "change@/devices/...", then pairs, each with a NUL behind it.
inline std::string uevent_text(std::string_view action, std::string_view path, std::string_view subsystem,
                               std::string_view more) {
  std::string text = std::string(action) + "@/" + std::string(path);
  for (const std::string& pair :
       {std::string(), "ACTION=" + std::string(action), "DEVPATH=/" + std::string(path),
        "SUBSYSTEM=" + std::string(subsystem), std::string(more), std::string("SEQNUM=4711")}) {
    text += pair;
    text += '\0';
  }
  return text;
}

}  // namespace igpu::test
