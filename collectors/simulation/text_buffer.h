// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace igpu::simulation {

// Writes the text of a simulated file directly into the reader's buffer, like the kernel's seq_file, without an
// intermediate string. Text that does not fit is not written; the overflow is recorded.
class TextWriter {
 public:
  explicit TextWriter(std::span<char> buffer) : buffer_(buffer) {}

  TextWriter& operator<<(std::string_view text) {
    const std::size_t room = buffer_.size() - used_;
    if (text.size() > room) {
      overflowed_ = true;
      text = text.substr(0, room);
    }
    text.copy(buffer_.data() + used_, text.size());
    used_ += text.size();
    return *this;
  }
  TextWriter& operator<<(const char* text) { return *this << std::string_view(text); }
  TextWriter& operator<<(char c) { return *this << std::string_view(&c, 1); }

  template <std::integral Integer>
  requires(!std::same_as<Integer, char> && !std::same_as<Integer, bool>) TextWriter& operator<<(Integer number) {
    char digits[24];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
    static_cast<void>(error);  // 24 characters hold every 64-bit number
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  TextWriter& hex(std::uint64_t number, int width = 0) {
    char digits[16];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number, 16);
    static_cast<void>(error);
    for (auto written = static_cast<int>(end - digits); written < width; ++written) *this << '0';
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }

  std::string_view text() const { return {buffer_.data(), used_}; }
  bool overflowed() const { return overflowed_; }

 private:
  std::span<char> buffer_;
  std::size_t used_ = 0;
  bool overflowed_ = false;
};

}  // namespace igpu::simulation
