// SPDX-License-Identifier: Apache-2.0
#include "fake/simulation/course.h"

#include <doctest/doctest.h>

#include "support/expected_values.h"

using namespace igpu::simulation;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("course");

TEST_CASE("a constant course grows by its value every second") {
  const Course course(250);
  CHECK(course.value(0s) == 250);
  CHECK(course.value(11h) == 250);
  CHECK(course.integral(0s) == 0);
  CHECK(course.integral(4s) == 1000);
  CHECK(course.integral(11h) == 11u * 3600 * 250);
}

TEST_CASE("within a second the integral grows evenly, rounded down") {
  const Course course(1'000'000'000);  // a whole engine busy, in nanoseconds per second
  CHECK(course.integral(1ns) == 1);
  CHECK(course.integral(1500ms) == 1'500'000'000);
  CHECK(Course(3).integral(400ms) == 1);
  CHECK(Course(3).integral(700ms) == 2);
}

TEST_CASE("the integral over a window is the sum of its values, also across the end of the period") {
  const Course course(Wave{0.4, 0.3, 60, 0.25}, 1e9);
  for (const ScriptTime from : {ScriptTime(7s), ScriptTime(295s), ScriptTime(41'237s)}) {
    std::uint64_t sum = 0;
    for (ScriptTime t = from; t < from + 20s; t += 1s) sum += course.value(t);
    CHECK(course.integral(from + 20s) - course.integral(from) == sum);
    CHECK(mean(course, from, from + 20s) == doctest::Approx(static_cast<double>(sum) / 20));
  }
}

TEST_CASE("a wave stays around its mean, keeps its period and never goes below zero") {
  const Course course(Wave{100, 40, 60}, 1);
  CHECK(mean(course, 0s, 300s) == doctest::Approx(100).epsilon(0.01));
  CHECK(course.value(15s) == 140);
  CHECK(course.value(45s) == 60);
  CHECK(course.value(15s) == course.value(75s));
  CHECK(course.maximum() == 140);
  const Course deep(Wave{1, 5, 60}, 1);
  CHECK(deep.value(45s) == 0);
}

TEST_CASE("the sum of courses is the course of the sums") {
  const Course a(Wave{10, 5, 30}, 1);
  const Course b(Wave{7, 7, 100, 0.5}, 1);
  const Course sum = a + b;
  for (std::size_t k = 0; k < Course::kPeriod; ++k) REQUIRE(sum.at_second(k) == a.at_second(k) + b.at_second(k));
  CHECK(sum.integral(1234s) == a.integral(1234s) + b.integral(1234s));
}

TEST_CASE("an integral never decreases, whatever the step of time") {
  const Course course(Wave{0.333, 0.2, 20}, 1e9);
  std::uint64_t last = 0;
  for (ScriptTime t = 299s; t < 302s; t += 733'337ns) {
    const std::uint64_t now = course.integral(t);
    REQUIRE(now >= last);
    last = now;
  }
}

TEST_CASE("a large unit over months does not overflow") {
  const Course energy(500'000'000);  // 500 W in microwatts
  CHECK(energy.integral(24h * 365) == std::uint64_t{500'000'000} * 86'400 * 365);
}

TEST_SUITE_END();
