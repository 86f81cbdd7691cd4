// SPDX-License-Identifier: Apache-2.0
#include "base/monotonic_counter.h"

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

using namespace igpu;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("monotonic counter");

TEST_CASE("it starts as the kernel's own count and follows it") {
  MonotonicCounter counter;
  CHECK(counter.advance(5000) == 5000);
  CHECK(counter.advance(5600) == 5600);
}

TEST_CASE("a source that restarted is added to what was counted before") {
  MonotonicCounter counter;
  (void)counter.advance(1000000);
  CHECK(counter.advance(40) == 1000000);
  CHECK(counter.advance(60) == 1000020);
}

namespace {

// A count of at most ten a second that wraps at 1000.
struct Bounded {
  Advance read(std::uint64_t raw, Nanoseconds at) {
    return counter.advance_bounded(raw, 1000, {.per_second = 10, .at_once = 5}, at, at);
  }
  MonotonicCounter counter;
};

}  // namespace

TEST_CASE("a wrap that the elapsed time allows loses nothing, however long it took") {
  Bounded bounded;
  (void)bounded.read(950, 0s);
  CHECK(bounded.read(20, 7s) == Advance::lapped);
  CHECK(bounded.counter.total() == 1020);
  CHECK(bounded.read(10, 106s) == Advance::lapped);  // all but a whole one
  CHECK(bounded.counter.total() == 2010);
  CHECK(bounded.read(30, 108s) == Advance::gained);
  CHECK(bounded.counter.total() == 2030);
}

TEST_CASE("a step back too early to be a wrap is a reset: nothing is added for it, later increments are") {
  Bounded bounded;
  (void)bounded.read(950, 0s);
  CHECK(bounded.read(20, 6s) == Advance::reset);  // 70 in a time for 65
  CHECK(bounded.counter.total() == 950);
  CHECK(bounded.read(30, 7s) == Advance::gained);
  CHECK(bounded.counter.total() == 960);
  CHECK(bounded.read(5, 8s) == Advance::reset);
  CHECK(bounded.counter.total() == 960);
}

TEST_CASE("what a source reads after a step back decides whether it restarted or dipped") {
  struct Row {
    const char* what;
    std::vector<std::uint64_t> readings;  // one a second, after 700
    std::vector<std::uint64_t> totals;    // after each
  };
  const std::vector<Row> rows = {
      {"one lower reading is a dip", {600, 720}, {700, 720}},
      {"so are two", {600, 605, 720}, {700, 700, 720}},
      {"and any number, growing or not", {600, 610, 610, 590, 600, 610, 720}, {700, 700, 700, 700, 700, 700, 720}},
      {"two dips", {600, 720, 610, 730}, {700, 720, 720, 730}},
      {"a dip from which it grows past its old level", {690, 698, 706}, {700, 700, 706}},
      {"a single 0", {0, 720}, {700, 720}},
      {"0 twice", {0, 0, 725}, {700, 700, 725}},
      {"near zero, and back", {5, 7, 725}, {700, 702, 725}},
      {"back by less than it grew meanwhile", {5, 15, 701}, {700, 710, 710}},
      {"lower twice, and back", {8, 0, 725}, {700, 700, 725}},
      {"a restart", {0, 8, 16, 26}, {700, 708, 716, 726}},
      {"a restart that is seen late", {12, 20}, {700, 708}},
      {"one reading that is too high", {3000, 715, 720}, {700, 700, 705}},
      {"two that are too high, and the same", {3000, 3000, 720}, {700, 700, 700}},
      {"too high, then elsewhere", {3000, 300, 310}, {700, 700, 710}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Bounded bounded;
    Nanoseconds at = 0s;
    (void)bounded.read(2700, at);  // beyond its range, so that no reading looks like a wrap
    for (std::size_t i = 0; i < row.readings.size(); ++i) {
      CAPTURE(i);
      (void)bounded.read(row.readings[i] + (row.readings[i] < 100 ? 0 : 2000), at += 1s);
      CHECK(bounded.counter.total() == row.totals[i] + 2000);
    }
  }
}

TEST_CASE("a restarted source that grows past its old level has not dipped") {
  Bounded bounded;
  (void)bounded.read(100, 0s);
  CHECK(bounded.read(2, 1s) == Advance::reset);
  std::uint64_t raw = 2;
  for (Nanoseconds at = 2s; at < 20s; at += 1s) CHECK(bounded.read(raw += 10, at) == Advance::gained);
  CHECK(bounded.counter.total() == 100 + raw - 2);
}

TEST_CASE("a young count that loses less than half dips, although it could have restarted and come that far") {
  Bounded bounded;
  (void)bounded.read(12, 0s);
  CHECK(bounded.read(9, 1s) == Advance::held);
  CHECK(bounded.read(15, 2s) == Advance::gained);
  CHECK(bounded.counter.total() == 15);
  CHECK(bounded.read(7, 3s) == Advance::reset);
  CHECK(bounded.counter.total() == 15);
}

TEST_CASE("a dip before a source is reopened is forgotten") {
  Bounded bounded;
  (void)bounded.read(700, 0s);
  CHECK(bounded.read(600, 1s) == Advance::held);
  bounded.counter.rebase();
  CHECK(bounded.read(800, 2s) == Advance::gained);
  CHECK(bounded.read(790, 3s) == Advance::held);
  CHECK(bounded.counter.total() == 700);
}

TEST_CASE("a jump forward beyond twice the bound is a reset; a smaller one is believed") {
  Bounded bounded;
  (void)bounded.read(100, 0s);
  CHECK(bounded.read(130, 1s) == Advance::gained);
  CHECK(bounded.read(900, 2s) == Advance::reset);
  CHECK(bounded.counter.total() == 130);
  CHECK(bounded.read(905, 3s) == Advance::gained);
  CHECK(bounded.counter.total() == 135);
}

TEST_CASE("the bound of a source that publishes rarely covers the time since it last did") {
  Bounded bounded;
  (void)bounded.read(100, 0s);
  for (Nanoseconds at = 1s; at < 60s; at += 1s) (void)bounded.read(100, at);
  CHECK(bounded.read(700, 60s) == Advance::gained);
  CHECK(bounded.counter.total() == 700);
}

TEST_CASE("the bound includes the duration of the reading") {
  MonotonicCounter counter;
  const GainBound bound{.per_second = 10};
  (void)counter.advance_bounded(0, 0, bound, 0s, 5s);
  CHECK(counter.advance_bounded(100, 0, bound, 5s, 6s) == Advance::gained);
}

TEST_CASE("the first reading is a starting point, also after a counter was reopened") {
  Bounded bounded;
  CHECK(bounded.read(999, 0s) == Advance::gained);
  bounded.counter.rebase();
  CHECK(bounded.read(3, 1s) == Advance::gained);
  CHECK(bounded.counter.total() == 999);
}

TEST_CASE("a count beyond its stated range does not wrap") {
  Bounded bounded;
  (void)bounded.read(5000, 0s);
  CHECK(bounded.read(3, 1000s) == Advance::reset);
  CHECK(bounded.counter.total() == 5000);
}

TEST_CASE("a reopened counter continues from its last value") {
  MonotonicCounter counter;
  (void)counter.advance(300);
  counter.rebase();
  CHECK(counter.advance(7000) == 300);
  CHECK(counter.advance(7001) == 301);
}

TEST_CASE("time known from another source is added") {
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
