// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "text/text.h"

using igpu::exporter::append_wrapped;
using igpu::exporter::cell_width;

TEST_SUITE_BEGIN("wrap");

TEST_CASE("words fill a line and continue on the next, indented") {
  std::string out = "  fix  ";
  append_wrapped(out, "one two three four", 7, 15);
  CHECK(out == "  fix  one two\n       three\n       four");
}

TEST_CASE("a word is never broken, however long") {
  std::string out;
  append_wrapped(out, "a /sys/class/drm/card0/device b", 2, 10);
  CHECK(out == "a\n  /sys/class/drm/card0/device\n  b");
}

TEST_CASE("lines of a list end between its items; blanks are collapsed in text only") {
  std::string out;
  append_wrapped(out, std::vector<std::string>{"video 1.0 %", "copy 2.0 %"}, 2, 15);
  CHECK(out == "video 1.0 %,\n  copy 2.0 %");
  std::string text;
  append_wrapped(text, "  a   b ", 0, 10);
  CHECK(text == "a b");
}

TEST_CASE("width counts characters") {
  CHECK(cell_width("58 °C") == 5);
  std::string out = "é";
  append_wrapped(out, "é é", 0, 4);
  CHECK(out == "éé é");
}

TEST_CASE("empty text stays empty") {
  std::string out = "x";
  append_wrapped(out, "", 4);
  append_wrapped(out, std::vector<std::string>{}, 4);
  CHECK(out == "x");
}

TEST_SUITE_END();
