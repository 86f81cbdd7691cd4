// SPDX-License-Identifier: Apache-2.0
// Numbers of a page: the shortest text that reads back unchanged, as std::to_chars writes it.
#include <doctest/doctest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "view/format/text_writer.h"

using namespace igpu::exporter;

namespace {

std::string text_of(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

std::string shortest(double value) {
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

}  // namespace

TEST_CASE("Integers have neither fraction nor exponent") {
  CHECK(text_of(0) == "0");
  CHECK(text_of(-1) == "-1");
  CHECK(text_of(100000000) == "100000000");
  CHECK(text_of(9007199254740992) == "9007199254740992");
  CHECK(text_of(4611686018427387904) == "4611686018427387904");
  CHECK(text_of(1e19) == "1e+19");
}

TEST_CASE("Seconds of nanoseconds have no more digits than they need") {
  CHECK(text_of(1234567890 / 1e9) == "1.23456789");
  CHECK(text_of(86400000000001 / 1e9) == "86400.000000001");
  CHECK(text_of(0.05) == "0.05");
  CHECK(text_of(-0.125) == "-0.125");
  CHECK(text_of(1e-9) == "1e-09");
  CHECK(text_of(0.001) == "0.001");
  CHECK(text_of(0.0012) == "0.0012");
}

TEST_CASE("Every number with a fraction is written as std::to_chars writes it") {
  std::mt19937_64 random(1);
  const auto same = [](double value) {
    if (value == std::trunc(value) || !std::isfinite(value)) return;
    if (text_of(value) == shortest(value) && text_of(-value) == shortest(-value)) return;
    FAIL_CHECK(shortest(value) << " became " << text_of(value));
  };
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t bits = random();
    same(std::bit_cast<double>(bits));                                      // of any size
    const double seconds = static_cast<double>(bits >> (bits % 64)) / 1e9;  // counted in nanoseconds
    same(seconds);
    same(std::nextafter(seconds, 0));
    same(std::nextafter(seconds, std::numeric_limits<double>::infinity()));
    same(static_cast<double>(bits % 100000) / 1000);                                       // degrees, watts
    same(static_cast<double>(bits >> 32) / static_cast<double>((bits & 0xffffffff) + 1));  // ratios
  }
}
