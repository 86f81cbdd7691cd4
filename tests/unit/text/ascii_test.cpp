// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "text/text.h"

using namespace igpu::exporter;

TEST_SUITE_BEGIN("ascii");

TEST_CASE("only ASCII letters change their case") {
  CHECK(to_lower('A') == 'a');
  CHECK(to_lower('Z') == 'z');
  for (const char c : {'@', '[', 'a', 'z', '0', '\xc4', '\0'}) CHECK(to_lower(c) == c);
  CHECK(to_upper('a') == 'A');
  CHECK(to_upper('z') == 'Z');
  for (const char c : {'`', '{', 'A', 'Z', '0', '\xe4', '\0'}) CHECK(to_upper(c) == c);
}

TEST_CASE("texts that differ in case only are equal") {
  CHECK(equal_ignoring_case("", ""));
  CHECK(equal_ignoring_case("X-Frame-Options", "x-frame-OPTIONS"));
  CHECK_FALSE(equal_ignoring_case("gzip", "gzi"));
  CHECK_FALSE(equal_ignoring_case("gzi", "gzip"));
  CHECK_FALSE(equal_ignoring_case("[", "{"));  // as far apart as "A" and "a", but no letters
  CHECK_FALSE(equal_ignoring_case("\xc4", "\xe4"));
}

TEST_CASE("blanks are removed at both ends, not in between") {
  CHECK(trimmed("") == "");
  CHECK(trimmed(" \t\r\n") == "");
  CHECK(trimmed("a") == "a");
  CHECK(trimmed("\t a b \r\n") == "a b");
  CHECK(trimmed("\" max-age\"", " \t\"") == "max-age");
  CHECK(trimmed(" a\n", " ") == "a\n");
}

TEST_SUITE_END();
