// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

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
  explicit Course(std::uint64_t constant) : Course(from([=](std::size_t) { return constant; })) {}
  // scale: the course's unit as a multiple of the wave's unit.
  Course(const Wave& wave, double scale)
      : Course(from([&](std::size_t k) {
          const double turns = static_cast<double>(k) / wave.period + wave.phase;
          const double value = wave.mean + wave.swing * std::sin(2 * std::numbers::pi * turns);
          return std::llround(std::max(0.0, value) * scale);
        })) {}
  // Bytes in whole pages.
  static Course of_pages(const Wave& mib, std::uint64_t page) {
    return from([&, course = Course(mib, 1 << 20)](std::size_t k) { return course.at_second(k) / page * page; });
  }
  // f(second) for every second of the period.
  template <class F>
  static Course from(F&& f) {
    Course course;
    for (std::size_t k = 0; k < kPeriod; ++k) course.sums_[k + 1] = course.sums_[k] + static_cast<std::uint64_t>(f(k));
    return course;
  }

  std::uint64_t at_second(std::size_t k) const { return sums_[k % kPeriod + 1] - sums_[k % kPeriod]; }
  std::uint64_t value(ScriptTime t) const { return at_second(nanoseconds(t) / kNanosecondsPerSecond); }
  // Integral over time from boot to t, in unit * seconds, rounded down.
  std::uint64_t integral(ScriptTime t) const {
    const std::uint64_t ns = nanoseconds(t);
    const std::uint64_t second = ns / kNanosecondsPerSecond;
    return second / kPeriod * sums_[kPeriod] + sums_[second % kPeriod] +
           part_of_second(at_second(second), ns % kNanosecondsPerSecond);
  }

  std::uint64_t maximum() const {
    std::uint64_t most = 0;
    for (std::size_t k = 0; k < kPeriod; ++k) most = std::max(most, at_second(k));
    return most;
  }

  Course& operator+=(const Course& other) {
    for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k] += other.sums_[k];
    return *this;
  }
  friend Course operator+(Course a, const Course& b) { return a += b; }

 private:
  static constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

  static std::uint64_t nanoseconds(ScriptTime t) { return t.count() > 0 ? static_cast<std::uint64_t>(t.count()) : 0; }

  // rate * ns / 1e9, rounded down, without overflow.
  static std::uint64_t part_of_second(std::uint64_t rate, std::uint64_t ns) {
    return rate / kNanosecondsPerSecond * ns + rate % kNanosecondsPerSecond * ns / kNanosecondsPerSecond;
  }

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
  std::uint64_t predecessors(ScriptTime t) const {
    return recurs() && t >= begin_ ? static_cast<std::uint64_t>((t - begin_) / kPeriod) : 0;
  }
  // Number of instances that have ended by t.
  std::uint64_t ended(ScriptTime t) const {
    const ScriptTime first_end = begin_ + length_;
    return recurs() && t >= first_end ? static_cast<std::uint64_t>((t - first_end) / kPeriod) + 1 : 0;
  }
  // Whether the same instance exists at both times.
  bool is_same(ScriptTime a, ScriptTime b) const { return exists(a) && exists(b) && began(a) == began(b); }
  // This lifetime, shortened at both ends.
  Lifetime within(ScriptTime after_begin, ScriptTime before_end) const {
    if (!recurs()) return Lifetime(begin_ + after_begin);
    return {begin_ + after_begin, length_ - after_begin - before_end};
  }

  // The course during this lifetime, 0 at other times.
  Course limit(const Course& course) const {
    if (!recurs()) return course;
    return Course::from([&](std::size_t k) {
      // A later period: the course also covers times before the first begin.
      const ScriptTime t = begin_ / kPeriod * kPeriod + kPeriod + std::chrono::seconds(k);
      return exists(t) ? course.at_second(k) : 0;
    });
  }

 private:
  static constexpr ScriptTime kPeriod = std::chrono::seconds(Course::kPeriod);
  ScriptTime since_begin(ScriptTime t) const { return (t - begin_) % kPeriod; }

  ScriptTime begin_{};
  ScriptTime length_{};  // 0: no end
};

}  // namespace igpu::simulation
