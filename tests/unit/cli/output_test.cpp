// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <doctest/doctest.h>

using namespace igpu::exporter;

TEST_SUITE_BEGIN("output");

TEST_CASE("control characters of a process name are not printed") {
  CHECK(terminal_safe("ff\x1b[2Jmpeg\n") == "ff?[2Jmpeg?");
  CHECK(terminal_safe("\x7f\x01") == "??");
  CHECK(terminal_safe("a\xc2\x9b"
                      "2J") == "a?2J");
  CHECK(terminal_safe("日本語 é") == "日本語 é");
}

TEST_CASE("padding counts characters, not bytes") {
  CHECK(padded("é", 3) == "é  ");
  CHECK(padded("abc", 2) == "abc");
}

TEST_SUITE_END();
