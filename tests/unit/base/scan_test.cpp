// SPDX-License-Identifier: Apache-2.0
#include "base/scan.h"

#include <doctest/doctest.h>

#include <string>

TEST_SUITE_BEGIN("scan");

using namespace igpu;

TEST_CASE("the scale of a RAPL event is read") {
  CHECK(scan_double("2.3283064365386962890625e-10\n") == 2.3283064365386962890625e-10);
  CHECK(scan_double("6.103515625e-5") == 6.103515625e-5);
  CHECK(scan_double(" 1 ") == 1.0);
}

TEST_CASE("text that is not a finite decimal number has no value") {
  for (const char* text : {"", " ", "x", "1x", "1 2", "nan", "inf", "-inf", "1e999", "0x10", "1,5", "--1", "+1"}) {
    INFO(std::string(text));
    CHECK_FALSE(scan_double(text));
  }
}

TEST_CASE("an integer with anything behind it has no value") {
  CHECK(scan_u64("18446744073709551615\n") == 18446744073709551615u);
  CHECK_FALSE(scan_u64("18446744073709551616"));
  CHECK_FALSE(scan_u64("-1"));
  CHECK_FALSE(scan_u64("12 MHz"));
  CHECK(scan_i64("-40000") == -40000);
  CHECK(scan_hex("0x56a0\n") == 0x56a0u);
  CHECK(scan_hex("56a0") == 0x56a0u);
  CHECK_FALSE(scan_hex("0x"));
}

TEST_CASE("text is split at separators") {
  std::string_view rest = "a=1,b=2\nnext";
  CHECK(take_until(rest, ',') == "a=1");
  CHECK(take_line(rest) == "b=2");
  CHECK(take_line(rest) == "next");
  CHECK(rest.empty());
  CHECK(take_line(rest).empty());
}

TEST_SUITE_END();
