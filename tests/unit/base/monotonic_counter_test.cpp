// SPDX-License-Identifier: Apache-2.0
#include "base/monotonic_counter.h"

#include <doctest/doctest.h>

using namespace igpu;

TEST_SUITE_BEGIN("monotonic counter");

TEST_CASE("it starts as the kernel's own count and follows it") {
  MonotonicCounter counter;
  CHECK(counter.advance(5000) == 5000);
  CHECK(counter.advance(5600) == 5600);
}

TEST_CASE("an estimate that is corrected downwards is held until the source has caught up") {
  MonotonicCounter counter;
  (void)counter.advance(1000, 100);
  CHECK(counter.advance(950, 100) == 1000);
  CHECK(counter.advance(990, 100) == 1000);
  CHECK(counter.advance(1010, 100) == 1010);
}

TEST_CASE("a source that restarted is added to what was counted before") {
  MonotonicCounter counter;
  (void)counter.advance(1000000, 100);
  CHECK(counter.advance(40, 100) == 1000000);
  CHECK(counter.advance(60, 100) == 1000020);
}

TEST_CASE("a wrap at a known range loses nothing") {
  MonotonicCounter counter;
  (void)counter.advance_wrapping(950, 1000);
  CHECK(counter.advance_wrapping(20, 1000) == 1020);
  CHECK(counter.advance_wrapping(30, 1000) == 1030);
}

TEST_CASE("a fall by little of a wrapping source is a restart: a wrap would be an absurd advance") {
  MonotonicCounter counter;
  (void)counter.advance_wrapping(500, 1000);
  CHECK(counter.advance_wrapping(490, 1000) == 500);
  CHECK(counter.advance_wrapping(500, 1000) == 510);
}

TEST_CASE("a counter that was opened anew goes on where it stood") {
  MonotonicCounter counter;
  (void)counter.advance(300);
  SUBCASE("and counts from zero again") {
    counter.restart_at_zero();
    CHECK(counter.advance(50) == 350);
  }
  SUBCASE("and stands anywhere") {
    counter.rebase();
    CHECK(counter.advance(7000) == 300);
    CHECK(counter.advance(7001) == 301);
  }
}

TEST_CASE("time known from elsewhere is added") {
  MonotonicCounter counter;
  (void)counter.advance(300);
  counter.add(20);
  CHECK(counter.total() == 320);
  CHECK(counter.advance(310) == 330);
}

TEST_CASE("counters of a device are found again by name") {
  CounterMemory memory;
  MonotonicCounter& first = memory.counter("rcs0-busy");
  (void)first.advance(7);
  (void)memory.counter("bcs0-busy");
  CHECK(&memory.counter("rcs0-busy") == &first);
  CHECK(memory.counter("rcs0-busy").total() == 7);
}

TEST_SUITE_END();
