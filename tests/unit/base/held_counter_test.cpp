// SPDX-License-Identifier: Apache-2.0
#include "base/held_counter.h"

#include <doctest/doctest.h>

using igpu::HeldCounter;

TEST_SUITE_BEGIN("held counter");

TEST_CASE("each update returns what the source gained") {
  HeldCounter counter = HeldCounter::from_zero();
  CHECK(counter.advance(100, 10).gained == 100);
  CHECK(counter.advance(100, 10).gained == 0);
  CHECK(counter.advance(150, 10).gained == 50);
}

TEST_CASE("a small step back is held until the source has caught up") {
  HeldCounter counter = HeldCounter::from_zero();
  (void)counter.advance(100, 10);
  const auto back = counter.advance(95, 10);
  CHECK(back.gained == 0);
  CHECK(back.stepped_back == 5);
  CHECK_FALSE(back.restarted);
  CHECK(counter.advance(99, 10).gained == 0);
  CHECK(counter.advance(105, 10).gained == 5);
}

TEST_CASE("a larger step back is a restart: later increments count again") {
  HeldCounter counter = HeldCounter::from_zero();
  (void)counter.advance(1000, 10);
  const auto back = counter.advance(3, 10);
  CHECK(back.gained == 0);
  CHECK(back.restarted);
  CHECK(counter.advance(8, 10).gained == 5);
}

TEST_CASE("a count reset below its starting point, which underflows to centuries, gains nothing") {
  HeldCounter counter = HeldCounter::from_zero();
  (void)counter.advance(7, 10);
  CHECK(counter.advance(static_cast<std::uint64_t>(-100'000), 10).gained == 0);
  CHECK(counter.advance(static_cast<std::uint64_t>(-99'000), 10).gained == 1000);
}

TEST_CASE("a 32-bit wrap is undone where it is plausible") {
  constexpr std::uint64_t lap = std::uint64_t{1} << 32;
  HeldCounter counter = HeldCounter::from_zero();
  (void)counter.advance(lap, 10);
  CHECK(counter.advance(50, 10, 100).gained == 50);
  HeldCounter other = HeldCounter::from_zero();
  (void)other.advance(lap, 10);
  CHECK(other.advance(5000, 10, 100).gained == 0);
}

TEST_CASE("a value can be checked for a step back without recording it") {
  HeldCounter counter;
  CHECK_FALSE(counter.would_step_back(0, 0));
  (void)counter.advance(1000, 10);
  CHECK(counter.would_step_back(900, 99));
  CHECK_FALSE(counter.would_step_back(900, 100));
  CHECK_FALSE(counter.would_step_back(1001, 0));
  const std::uint64_t lap = std::uint64_t{1} << 32;
  (void)counter.advance(lap, 10);
  CHECK_FALSE(counter.would_step_back(50, 0, 100));
  CHECK(counter.would_step_back(50, 0, 10));
  CHECK(counter.advance(lap + 1, 10).gained == 1);
}
