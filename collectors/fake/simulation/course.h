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
  static Course of_pages(const Wave& mib, std::uint64_t page);  // bytes in whole pages
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

// When something on the simulated machine exists: from some time on, or for a part of every Course::kPeriod, each time
// as a new instance.
class Lifetime {
 public:
  Lifetime() = default;  // since boot
  explicit Lifetime(ScriptTime begin) : begin_(begin) {}
  // length: less than a period.
  Lifetime(ScriptTime begin, ScriptTime length) : begin_(begin), length_(length) {}

  bool recurs() const { return length_ != ScriptTime::zero(); }
  ScriptTime length() const { return length_; }
  bool exists(ScriptTime t) const { return t >= begin_ && (!recurs() || since_begin(t) < length_); }
  // When the instance that exists at t began; if none exists, the last one before t.
  ScriptTime began(ScriptTime t) const { return t < begin_ || !recurs() ? begin_ : t - since_begin(t); }
  // Number of instances that began before the one of began(t).
  std::uint64_t predecessors(ScriptTime t) const;
  // Number of instances that have ended by t.
  std::uint64_t ended(ScriptTime t) const;
  // Whether the same instance exists at both times.
  bool is_same(ScriptTime a, ScriptTime b) const { return exists(a) && exists(b) && began(a) == began(b); }
  // This lifetime, shortened at both ends.
  Lifetime within(ScriptTime after_begin, ScriptTime before_end) const;

  // The course during this lifetime, 0 at other times.
  Course limit(const Course& course) const;

 private:
  static constexpr ScriptTime kPeriod = std::chrono::seconds(Course::kPeriod);
  ScriptTime since_begin(ScriptTime t) const { return (t - begin_) % kPeriod; }

  ScriptTime begin_{};
  ScriptTime length_{};  // 0: no end
};

}  // namespace igpu::simulation
