// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace igpu {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

template <class Word>
Word word_at(std::string_view text, std::size_t i) {
  Word word;
  std::memcpy(&word, text.data() + i, sizeof word);
  return word;
}

// Whether all bytes are 0x01..0x7f. A byte above 0x7f sets its high bit; a zero byte borrows into its own.
template <class Word>
bool is_plain(Word word) {
  constexpr auto kOnes = static_cast<Word>(0x0101010101010101u), kHigh = static_cast<Word>(0x8080808080808080u);
  return ((word | (word - kOnes)) & kHigh) == 0;
}

// How many bytes at i need no change: 0x01..0x7f.
std::size_t ascii_run(std::string_view text, std::size_t i) {
  const std::size_t from = i;
  while (text.size() - i >= sizeof(std::uint64_t) && is_plain(word_at<std::uint64_t>(text, i)))
    i += sizeof(std::uint64_t);
  while (i < text.size() && byte_at(text, i) != 0 && byte_at(text, i) < 0x80) ++i;
  return i - from;
}

struct Sequence {
  std::size_t length;  // bytes of it that are there: at least 1
  bool valid;
};

// The multi-byte sequence at i (table 3-7 of the Unicode standard). An ill-formed one ends before the first byte that
// cannot belong to it, so that the byte after a cut-off sequence is kept.
Sequence sequence_at(std::string_view text, std::size_t i) {
  const unsigned char lead = byte_at(text, i);
  std::size_t continuation;
  unsigned char low = 0x80, high = 0xBF;  // bounds of the second byte
  if (lead >= 0xC2 && lead <= 0xDF) {
    continuation = 1;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    continuation = 2;
    if (lead == 0xE0) low = 0xA0;   // shorter forms exist
    if (lead == 0xED) high = 0x9F;  // surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    continuation = 3;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;  // above U+10FFFF
  } else {
    return {1, lead < 0x80};
  }
  for (std::size_t k = 1; k <= continuation; ++k) {
    if (i + k >= text.size()) return {k, false};
    const unsigned char c = byte_at(text, i + k);
    if (c < low || c > high) return {k, false};
    low = 0x80;
    high = 0xBF;
  }
  return {continuation + 1, true};
}

}  // namespace

// Nearly every text is plain. The last word overlaps the one before it, so that no byte is checked alone in a text of
// four bytes or more.
bool is_plain_ascii(std::string_view text) {
  const std::size_t size = text.size();
  if (size >= sizeof(std::uint64_t)) {
    std::size_t i = 0;
    for (; size - i > sizeof(std::uint64_t); i += sizeof(std::uint64_t))
      if (!is_plain(word_at<std::uint64_t>(text, i))) return false;
    return is_plain(word_at<std::uint64_t>(text, size - sizeof(std::uint64_t)));
  }
  if (size >= sizeof(std::uint32_t)) {
    return is_plain(word_at<std::uint32_t>(text, 0)) &&
           is_plain(word_at<std::uint32_t>(text, size - sizeof(std::uint32_t)));
  }
  for (std::size_t i = 0; i < size; ++i)
    if (byte_at(text, i) == 0 || byte_at(text, i) >= 0x80) return false;
  return true;
}

void append_valid_utf8(std::string& out, std::string_view text) {
  if (is_plain_ascii(text)) {
    out.append(text);
    return;
  }
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t run = ascii_run(text, i);
    out.append(text.data() + i, run);
    i += run;
    if (i >= text.size()) break;
    const Sequence sequence = sequence_at(text, i);
    if (sequence.valid && text[i] != '\0') {
      out.append(text.data() + i, sequence.length);
    } else {
      out.append(kReplacement);
    }
    i += sequence.length;
  }
}

}  // namespace igpu
