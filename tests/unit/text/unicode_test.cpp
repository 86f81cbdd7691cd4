// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "text/text.h"

using namespace igpu::exporter;

TEST_SUITE_BEGIN("unicode");

TEST_CASE("what a terminal would execute is replaced or dropped") {
  CHECK(clean_text("plain Grüße") == "plain Grüße");
  CHECK(clean_text("\033[2Ja\nb\tc\x7f") == "?[2Ja?b?c?");
  CHECK(clean_text("\xc2\x9bK") == "?K");  // U+009B starts a control sequence
  CHECK(clean_text("a\xe2\x80\xae"
                   "b") == "a?b");  // right-to-left override
  CHECK(clean_text("\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c\xe2\x80\x8f\xe2\x80\xa8") == "?????");
  CHECK(clean_text("a\xe2\x80\x8d"
                   "b") == "ab");         // zero-width joiner
  CHECK(clean_text("e\xcc\x81") == "e");  // combining accent
  CHECK(clean_text("a\xff"
                   "b\xc0\xaf") ==
        "a\xef\xbf\xbd"
        "b\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(clean_text("\xed\xa0\x80").find('\xed') == std::string::npos);  // surrogate
  CHECK(clean_text("abcdef", 3) == "abc");
  CHECK(clean_text("abü", 3) == "ab");
}

TEST_CASE("text in formats is UTF-8 and otherwise unchanged") {
  CHECK(valid_utf8("Grüße\x1b\xe2\x80\xae") == "Grüße\x1b\xe2\x80\xae");
  CHECK(valid_utf8("a\x9b\xe6\x97") == "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("text is cut before the first character that does not fit") {
  CHECK(cut_to_cells("Grüße", 3) == "Grü");
  CHECK(cut_to_cells("日本", 3) == "日");
  CHECK(cut_to_cells("abc", 3) == "abc");
  CHECK(cut_to_cells("abc", 0).empty());
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

TEST_CASE("padding counts cells of a terminal, not bytes") {
  CHECK(padded("é", 3) == "é  ");
  CHECK(padded("日", 3) == "日 ");
  CHECK(padded("abc", 2) == "abc");
}

TEST_SUITE_END();
