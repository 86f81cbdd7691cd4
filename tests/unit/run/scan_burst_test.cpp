// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "run/state.h"

using namespace igpu;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("scan burst");

TEST_CASE("nothing is due until a process is reported, then soon, then less and less often, then no more") {
  ScanBurst burst;
  CHECK_FALSE(burst.due());
  burst.scanned(1s, 1ms);
  CHECK_FALSE(burst.due());
  burst.reported(10s);
  CHECK(burst.due() == 10s + 100ms);
  const Nanoseconds began = 10s;
  Nanoseconds last = began;
  int scans = 0;
  while (const auto due = burst.due()) {
    // A job that ended right before this scan had been seen with this much of its time.
    const auto seen = static_cast<double>((last - began).count()) / static_cast<double>((*due - began).count());
    if (scans > 0) CHECK(seen >= 0.45);
    if (*due > began + 1s) CHECK(seen >= 0.78);
    if (*due > began + 3s) CHECK(seen >= 0.85);
    if (*due > began + 10s) CHECK(seen >= 0.88);
    last = *due;
    burst.scanned(last, 1ms);
    ++scans;
  }
  CHECK(last - began > 2min);
  CHECK(scans < 50);
}

TEST_CASE("another process is scanned soon, too") {
  ScanBurst burst;
  burst.reported(0s);
  for (int i = 0; i < 30; ++i) burst.scanned(*burst.due(), 0ns);
  const Nanoseconds last = *burst.due();
  burst.reported(last - 1s);
  CHECK(burst.due() == last - 900ms);
  burst.reported(last - 950ms);  // this scan shows it as well
  CHECK(burst.due() == last - 900ms);
}

TEST_CASE("scans take a twentieth of the time at most, and what was saved while nothing was scanned") {
  ScanBurst burst;
  Nanoseconds spent{};
  int scans = 0;
  for (Nanoseconds now = 0s; now < 1h;) {
    burst.reported(now);
    now = std::max(*burst.due(), now);
    burst.scanned(now, 300ms);
    spent += 300ms;
    ++scans;
  }
  CHECK(spent <= 60min / 20 + 3s);
  CHECK(scans > 590);
}

TEST_CASE("after a pause even slow scans come in time") {
  ScanBurst burst;
  for (Nanoseconds start : {0s, 200s}) {
    burst.reported(start);
    for (int i = 0; i < 6; ++i) {
      CHECK(*burst.due() < start + 2s);
      burst.scanned(*burst.due(), 300ms);
    }
    burst.scanned(*burst.due(), 300ms);  // now they must wait
    CHECK(*burst.due() > start + 2s);
    while (const auto due = burst.due()) burst.scanned(*due, 1ms);
  }
}

TEST_SUITE_END();
