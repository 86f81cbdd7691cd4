// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "igpu/units.h"

namespace igpu::simulation {

// Time since the simulated machine booted.
using ScriptTime = Nanoseconds;

// How a quantity varies: mean + swing * sin(2 pi (t / period + phase)), never below 0.
struct Wave {
  double mean = 0;
  double swing = 0;
  unsigned period = 60;  // seconds; a divisor of Course::kPeriod, or the course has a step where it restarts
  double phase = 0;      // 0..1
};

// A quantity over time: one whole number for every second, repeating after kPeriod. Whole numbers on a fixed grid make
// integrals exact and never decreasing, and sums, products and limits of courses are courses, too. So a counter of the
// simulated kernel is the exact integral of what the machine does.
//
// The caller chooses the unit: nanoseconds busy per second, kilohertz, microwatts, bytes.
class Course {
 public:
  static constexpr std::size_t kPeriod = 300;

  Course() = default;
  explicit Course(std::uint64_t constant);
  // scale: the course's unit as a multiple of the wave's unit.
  Course(const Wave& wave, double scale);
  // f(second) for every second of the period.
  template <class F>
  static Course from(F&& f) {
    Course course;
    for (std::size_t k = 0; k < kPeriod; ++k) course.sums_[k + 1] = course.sums_[k] + static_cast<std::uint64_t>(f(k));
    return course;
  }

  std::uint64_t at_second(std::size_t k) const { return sums_[k % kPeriod + 1] - sums_[k % kPeriod]; }
  std::uint64_t value(ScriptTime t) const;
  // Integral over time from boot to t, in unit * seconds, rounded down.
  std::uint64_t integral(ScriptTime t) const;

  std::uint64_t maximum() const;

  Course& operator+=(const Course& other);
  friend Course operator+(Course a, const Course& b) { return a += b; }

 private:
  std::array<std::uint64_t, kPeriod + 1> sums_{};
};

}  // namespace igpu::simulation
