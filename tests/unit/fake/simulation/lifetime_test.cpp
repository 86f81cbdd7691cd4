// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "fake/simulation/course.h"

using namespace igpu;
using namespace igpu::simulation;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("simulated lifetime");

TEST_CASE("what never ends exists from its begin on") {
  const Lifetime life(7s);
  CHECK_FALSE(life.recurs());
  CHECK_FALSE(life.exists(6s));
  CHECK(life.exists(7s));
  CHECK(life.exists(10'000s));
  CHECK(life.began(10'000s) == 7s);
  CHECK(life.predecessors(10'000s) == 0);
  CHECK(life.ended(10'000s) == 0);
  CHECK(life.is_same(7s, 10'000s));
  CHECK(Lifetime().exists(0s));
  CHECK(life.within(2s, 5s).began(100s) == 9s);
}

TEST_CASE("what recurs exists once in every period, each time as another one") {
  const Lifetime life(310s, 20s);
  CHECK(life.recurs());
  CHECK_FALSE(life.exists(15s));  // before the first
  CHECK(life.exists(310s));
  CHECK(life.exists(330s - 1ns));
  CHECK_FALSE(life.exists(330s));
  CHECK(life.exists(615s));
  CHECK(life.began(615s) == 610s);
  CHECK(life.began(900s) == 610s);  // the last one
  CHECK(life.predecessors(329s) == 0);
  CHECK(life.predecessors(615s) == 1);
  CHECK(life.ended(330s - 1ns) == 0);
  CHECK(life.ended(330s) == 1);
  CHECK(life.ended(629s) == 1);
  CHECK(life.ended(630s) == 2);
  CHECK(life.is_same(310s, 329s));
  CHECK_FALSE(life.is_same(310s, 610s));
  CHECK_FALSE(life.is_same(310s, 400s));
}

TEST_CASE("a course is limited to the time within a lifetime, in all periods alike") {
  const Course busy = Lifetime(295s, 10s).within(1s, 2s).limit(Course(1'000'000'000));
  CHECK(busy.at_second(295) == 0);
  CHECK(busy.at_second(296) == 1'000'000'000);
  CHECK(busy.at_second(2) == 1'000'000'000);  // over the end of the period
  CHECK(busy.at_second(3) == 0);
  CHECK(busy.integral(300s) == 7'000'000'000);
  CHECK(Lifetime(5s).limit(Course(3)).at_second(0) == 3);
}

TEST_SUITE_END();
