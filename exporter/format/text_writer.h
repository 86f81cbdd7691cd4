// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "igpu/page.h"

// What both text formats share: the sample line is the same in each of them.
namespace igpu::exporter {

// Whether a backslash, a quote or a newline is in it; nearly never. Eight bytes at a time: it is asked of every label
// value.
inline bool needs_escape(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u, kHigh = 0x8080808080808080u;
  // Which bytes are c, at their high bits; bytes above one that is may be taken for it, which changes no answer.
  const auto bytes_of = [](std::uint64_t word, char c) {
    const std::uint64_t x = word ^ (kOnes * static_cast<unsigned char>(c));
    return (x - kOnes) & ~x & kHigh;
  };
  std::size_t i = 0;
  for (; text.size() - i >= sizeof(std::uint64_t); i += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + i, sizeof word);
    if ((bytes_of(word, '\\') | bytes_of(word, '"') | bytes_of(word, '\n')) != 0) return true;
  }
  for (; i < text.size(); ++i)
    if (text[i] == '\\' || text[i] == '"' || text[i] == '\n') return true;
  return false;
}

// Writes at the end of a string that the caller keeps from scrape to scrape. The string is stretched to its capacity
// while the writer lives and cut to what was written by finish(): bytes are then stored without a check each.
class TextWriter {
 public:
  explicit TextWriter(std::string& out) : out_(out) {
    const std::size_t used = out.size();
    out_.resize(out_.capacity());
    at_ = out_.data() + used;
    end_ = out_.data() + out_.size();
  }
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  // Makes room; the calls below write no more than was asked for here.
  void ensure(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes) grow(bytes);
  }
  void put(char c) { *at_++ = c; }
  void put(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  // Backslash, newline and, if asked for, the quote get a backslash before them: at most twice the size.
  void put_escaped(std::string_view text, bool escape_quote) {
    if (!needs_escape(text)) return put(text);
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

  void finish() { out_.resize(static_cast<std::size_t>(at_ - out_.data())); }

  static constexpr std::size_t kNumberSize = 32;

 private:
  void grow(std::size_t bytes);

  std::string& out_;
  char* at_;
  char* end_;
};

// The lines of one family's samples. A label without a value is left out.
void write_samples(TextWriter& writer, const PageView::Family& family);

}  // namespace igpu::exporter
