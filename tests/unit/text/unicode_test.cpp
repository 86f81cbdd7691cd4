// SPDX-License-Identifier: Apache-2.0
#include "text/unicode.h"

#include <doctest/doctest.h>

using namespace igpu::exporter;

TEST_SUITE_BEGIN("unicode");

TEST_CASE("what a terminal would execute is replaced or dropped") {
  CHECK(clean_text("plain Grüße") == "plain Grüße");
  CHECK(clean_text("\033[2Ja\nb\tc\x7f") == "?[2Ja?b?c?");
  CHECK(clean_text("\xc2\x9bK") == "?K");  // U+009B starts a control sequence
  CHECK(clean_text("a\xe2\x80\xae"
                   "b") == "ab");         // right-to-left override
  CHECK(clean_text("e\xcc\x81") == "e");  // combining accent
  CHECK(clean_text("a\xff"
                   "b\xc0\xaf") ==
        "a\xef\xbf\xbd"
        "b\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(clean_text("\xed\xa0\x80").find('\xed') == std::string::npos);  // surrogate
  CHECK(clean_text("abcdef", 3) == "abc");
  CHECK(clean_text("abü", 3) == "ab");
}

TEST_CASE("cells") {
  CHECK(cell_width("abc") == 3);
  CHECK(cell_width("日本") == 4);
  CHECK(cell_width("█▏└") == 3);
  CHECK(cell_width("") == 0);
}

TEST_CASE("every character survives writing and reading") {
  for (char32_t c = 1; c <= 0x10ffff; c += 97) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    std::string out;
    append_character(out, c);
    std::string_view rest = out;
    REQUIRE(take_character(rest) == c);
    REQUIRE(rest.empty());
  }
}

TEST_SUITE_END();
