// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace igpu {

// "<prefix><number><suffix>" without a heap allocation.
class NumberedPath {
 public:
  NumberedPath(std::string_view prefix, std::uint32_t number, std::string_view suffix = {}) {
    char* end = std::copy(prefix.begin(), prefix.end(), text_.data());
    end = std::to_chars(end, text_.data() + text_.size(), number).ptr;
    end = std::copy(suffix.begin(), suffix.end(), end);
    size_ = static_cast<std::size_t>(end - text_.data());
  }
  // Implicit, for functions that take a path. NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string_view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 32> text_;
  std::size_t size_;
};

}  // namespace igpu
