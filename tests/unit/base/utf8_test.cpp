// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <doctest/doctest.h>

#include <string>

#include "support/utf8.h"

TEST_SUITE_BEGIN("utf8");

using namespace igpu;
using igpu::test::is_valid_utf8;
using namespace std::string_literals;

namespace {

std::string repaired(std::string_view text) {
  std::string out;
  append_valid_utf8(out, text);
  return out;
}

const std::string kBad = "\xEF\xBF\xBD";

}  // namespace

TEST_CASE("valid UTF-8 is unchanged, in every script") {
  for (const char* text : {"", "a", "ffmpeg", "0123456789abcdef0123456789abcdef", "Prozeß", "日本語のプロセス名",
                           "\U0001F600", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF", "\xEE\x80\x80", "tab\tand\nnewline"}) {
    INFO(std::string(text));
    CHECK(is_valid_utf8(text));
    CHECK(repaired(text) == text);
  }
}

TEST_CASE("NUL is replaced although it is valid, at every position in a machine word") {
  for (std::size_t at = 0; at < 20; ++at) {
    std::string text(20, 'x');
    text[at] = '\0';
    std::string expected(20, 'x');
    expected.replace(at, 1, kBad);
    CHECK(is_valid_utf8(text));
    CHECK(repaired(text) == expected);
  }
}

TEST_CASE("a byte that UTF-8 never contains becomes one replacement character") {
  CHECK(repaired("a\xff"
                 "b") == "a" + kBad + "b");
  CHECK(repaired("\xc0\x80") == kBad + kBad);                        // overlong
  CHECK(repaired("\xe0\x80\x80") == kBad + kBad + kBad);             // overlong
  CHECK(repaired("\xed\xa0\x80") == kBad + kBad + kBad);             // surrogate
  CHECK(repaired("\xf4\x90\x80\x80") == kBad + kBad + kBad + kBad);  // above U+10FFFF
  CHECK(repaired("\xf8\x88\x80\x80\x80").find('\xf8') == std::string::npos);
  CHECK(repaired("\x80") == kBad);
}

TEST_CASE("a truncated sequence becomes one replacement character, and the byte after it is kept") {
  CHECK(repaired("\xe2\x82") == kBad);
  CHECK(repaired("\xe2\x82x") == kBad + "x");
  CHECK(repaired("\xf0\x9f\x98\"") == kBad + "\"");
  CHECK(repaired("\xc3\xc3\xa9") == kBad + "é");
}

TEST_CASE("output is valid UTF-8 for every pair of bytes at every position in a word") {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text = "1234567"s + static_cast<char>(a) + static_cast<char>(b) + "890"s;
      const std::string out = repaired(text);
      if (!is_valid_utf8(out) || out.find('\0') != std::string::npos) FAIL_CHECK("bytes " << a << ' ' << b);
    }
  }
}

TEST_SUITE_END();
