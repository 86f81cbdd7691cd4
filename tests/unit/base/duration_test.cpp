// SPDX-License-Identifier: Apache-2.0
#include "igpu/duration.h"

#include <doctest/doctest.h>

using igpu::parse_duration;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("duration");

TEST_CASE("numbers need a unit") {
  CHECK(parse_duration("500ms") == 500ms);
  CHECK(parse_duration("1s") == 1s);
  CHECK(parse_duration("2m") == 2min);
  CHECK(parse_duration("1.5s") == 1500ms);
  CHECK(parse_duration("1h30m") == 90min);
  CHECK(parse_duration("100us") == 100us);
  CHECK(parse_duration("7ns") == 7ns);
  CHECK(parse_duration("0") == 0ns);
  CHECK(parse_duration("0s") == 0ns);
}

TEST_CASE("everything else is not a duration") {
  for (const char* text : {"", "1", "s", "-1s", "+1s", " 1s", "1s ", "1 s", "1x", "1e3s", "infs", "nan", ".", "1s2",
                           "1d", "99999999999999999999h", "9000h", "0x1s", "1..5s"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_SUITE_END();
