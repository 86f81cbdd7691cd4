// SPDX-License-Identifier: Apache-2.0
#include "base/counter_window.h"

#include <doctest/doctest.h>

using namespace igpu;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("counter window");

TEST_CASE("the first state opens a window, the second one closes it") {
  CounterWindow<1> window(1s);
  CHECK_FALSE(window.advance(0s, {100}));
  const auto delta = window.advance(2s, {300});
  REQUIRE(delta);
  CHECK(delta->counts[0] == 200);
  CHECK(delta->elapsed == 2s);
}

TEST_CASE("a second scraper 200 ms behind the first gets a full window and does not shorten the first one's") {
  CounterWindow<1> window(1s);
  (void)window.advance(0s, {0});
  for (int i = 1; i <= 5; ++i) {
    const auto at = std::chrono::seconds(15 * i);
    const auto first = window.advance(at, {static_cast<std::uint64_t>(15000 * i)});
    REQUIRE(first);
    CHECK(first->elapsed == 15s);
    CHECK(first->counts[0] == 15000);
    const auto second = window.advance(at + 200ms, {static_cast<std::uint64_t>(15000 * i + 200)});
    REQUIRE(second);
    CHECK(second->elapsed == 15200ms);
    CHECK(second->counts[0] == 15200);
  }
}

TEST_CASE("no window is shorter than the minimum, however often scrapes come") {
  CounterWindow<1> window(1s);
  (void)window.advance(0s, {0});
  for (auto at = 100ms; at < 5s; at += 100ms) {
    const auto delta = window.advance(at, {static_cast<std::uint64_t>(at.count())});
    if (at < 1s) {
      CHECK_FALSE(delta);
    } else {
      REQUIRE(delta);
      CHECK(delta->elapsed >= 1s);
      CHECK(delta->elapsed < 2s + 100ms);
    }
  }
}

TEST_CASE("a counter that went backwards gives no delta, and the next window starts there") {
  CounterWindow<2> window(1s);
  (void)window.advance(0s, {1000, 1000});
  CHECK_FALSE(window.advance(10s, {500, 2000}));
  const auto delta = window.advance(20s, {700, 3000});
  REQUIRE(delta);
  CHECK(delta->counts[0] == 200);
  CHECK(delta->counts[1] == 1000);
  CHECK(delta->elapsed == 10s);
}

TEST_CASE("a step back is detected even between two scrapes closer together than the minimum window") {
  CounterWindow<1> window(1s);
  (void)window.advance(0s, {0});
  (void)window.advance(10s, {1000});
  (void)window.advance(10100ms, {1100});
  CHECK_FALSE(window.advance(10200ms, {1050}));
}

TEST_CASE("ratios stay within 0 and 1") {
  CHECK(clamped_ratio(5, 10).value == 0.5);
  CHECK(clamped_ratio(11, 10).value == 1);
  CHECK(clamped_ratio(-1, 10).value == 0);
  CHECK(clamped_ratio(1, 0).value == 0);
}

TEST_SUITE_END();
