// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "kernel/clients/client_clocks.h"

using namespace igpu;
using namespace std::chrono_literals;

namespace {
std::uint64_t at(double hertz, Nanoseconds time) {
  return 1'000'000 + static_cast<std::uint64_t>(hertz * to_seconds(time).value);
}
}  // namespace

TEST_SUITE_BEGIN("clock rate");

TEST_CASE("a known hardware rate is recognised from one rough measurement") {
  for (const double hertz : {19.2e6, 24e6, 25e6, 38.4e6, 12.5e6, 9.6e6}) {
    ClockRate rate;
    rate.observe(5s, at(hertz, 5s));
    CHECK_FALSE(rate.hertz());
    rate.observe(6s, at(hertz * 1.012, 6s) - static_cast<std::uint64_t>(hertz * 0.06));  // read 12 ms late
    REQUIRE(rate.hertz());
    CHECK(*rate.hertz() == hertz);
  }
}

TEST_CASE("an interval below a fifth of a second is too short to measure") {
  ClockRate rate;
  rate.observe(0s, at(19.2e6, 0s));
  rate.observe(100ms, at(19.2e6, 100ms));
  CHECK_FALSE(rate.hertz());
  rate.observe(300ms, at(19.2e6, 300ms));
  CHECK(rate.hertz() == 19.2e6);
}

TEST_CASE("an unknown rate is accepted when two measurements agree") {
  ClockRate rate;
  rate.observe(0s, at(17e6, 0s));
  rate.observe(1s, at(17e6, 1s));
  CHECK_FALSE(rate.hertz());
  rate.observe(2s, at(17e6, 2s));
  REQUIRE(rate.hertz());
  CHECK(*rate.hertz() == doctest::Approx(17e6).epsilon(0.001));
}

TEST_CASE("a reset, a pause or one outlier does not change a known rate") {
  ClockRate rate;
  rate.observe(0s, at(19.2e6, 0s));
  rate.observe(1s, at(19.2e6, 1s));
  REQUIRE(rate.hertz() == 19.2e6);
  rate.observe(2s, 5);  // reset
  rate.observe(3s, 5 + 19'200'000);
  rate.observe(60s, 5 + 19'200'000 + 1000);  // it slept for most of that
  CHECK(rate.hertz() == 19.2e6);
  rate.pause();
  rate.observe(100s, 1);
  CHECK(rate.hertz() == 19.2e6);
}

TEST_CASE("a rate that stays different belongs to another device and is learned again") {
  ClockRate rate;
  for (int i = 0; i < 3; ++i) rate.observe(std::chrono::seconds(i), at(19.2e6, std::chrono::seconds(i)));
  for (int i = 10; i < 20; ++i) rate.observe(std::chrono::seconds(i), at(38.4e6, std::chrono::seconds(i)));
  CHECK(rate.hertz() == 38.4e6);
}

TEST_CASE("a reported rate is known at once, and does not replace a measured one") {
  ClockRate rate;
  rate.set_reported(19.2e6);
  CHECK(rate.hertz() == 19.2e6);
  rate.set_reported(24e6);
  CHECK(rate.hertz() == 19.2e6);
}

TEST_SUITE_END();
