// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "igpu/page.h"

// What both text formats share: the sample line is the same in each of them.
namespace igpu::exporter {

// Writes at the end of a string that the caller keeps from scrape to scrape. The string is stretched to its capacity
// while the writer lives and cut to what was written by finish(): bytes are then stored without a check each.
class TextWriter {
 public:
  explicit TextWriter(std::string& out) : out_(out), at_(out.size()) { out_.resize(out_.capacity()); }
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  // Makes room; the calls below write no more than was asked for here.
  void ensure(std::size_t bytes) {
    if (out_.size() - at_ < bytes) out_.resize((at_ + bytes) * 2);
  }
  void put(char c) { out_[at_++] = c; }
  void put(std::string_view text) {
    std::memcpy(out_.data() + at_, text.data(), text.size());
    at_ += text.size();
  }
  // Backslash, newline and, if asked for, the quote get a backslash before them: at most twice the size.
  void put_escaped(std::string_view text, bool escape_quote) {
    for (const char c : text) {
      if (c == '\\' || (escape_quote && c == '"')) {
        put('\\');
        put(c);
      } else if (c == '\n') {
        put('\\');
        put('n');
      } else {
        put(c);
      }
    }
  }
  // Integers without a point, everything else in the shortest form that reads back equal. At most kNumberSize bytes.
  void put_number(double value);

  void finish() { out_.resize(at_); }

  static constexpr std::size_t kNumberSize = 32;

 private:
  std::string& out_;
  std::size_t at_;
};

inline void TextWriter::put_number(double value) {
  constexpr double kInt64Range = 9223372036854775808.0;  // 2^63
  char* const begin = out_.data() + at_;
  if (value > -kInt64Range && value < kInt64Range && value == static_cast<double>(static_cast<std::int64_t>(value))) {
    at_ += static_cast<std::size_t>(std::to_chars(begin, begin + kNumberSize, static_cast<std::int64_t>(value)).ptr - begin);
  } else if (std::isfinite(value)) {
    at_ += static_cast<std::size_t>(std::to_chars(begin, begin + kNumberSize, value).ptr - begin);
  } else {
    put(std::isnan(value) ? std::string_view("NaN") : value > 0 ? std::string_view("+Inf") : std::string_view("-Inf"));
  }
}

// The lines of one family's samples. A label without a value is left out.
void write_samples(TextWriter& writer, const PageView::Family& family);

}  // namespace igpu::exporter
