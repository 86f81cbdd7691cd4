// SPDX-License-Identifier: Apache-2.0
#include "fake/simulation/course.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace igpu::simulation {

namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

std::uint64_t nanoseconds(ScriptTime t) { return t.count() > 0 ? static_cast<std::uint64_t>(t.count()) : 0; }

// rate * ns / 1e9, rounded down, without overflow.
std::uint64_t part_of_second(std::uint64_t rate, std::uint64_t ns) {
  return rate / kNanosecondsPerSecond * ns + rate % kNanosecondsPerSecond * ns / kNanosecondsPerSecond;
}

}  // namespace

Course::Course(std::uint64_t constant) : Course(from([=](std::size_t) { return constant; })) {}

Course::Course(const Wave& wave, double scale)
    : Course(from([&](std::size_t k) {
        const double turns = static_cast<double>(k) / wave.period + wave.phase;
        const double value = wave.mean + wave.swing * std::sin(2 * std::numbers::pi * turns);
        return std::llround(std::max(0.0, value) * scale);
      })) {}

Course Course::of_pages(const Wave& mib, std::uint64_t page) {
  return from([&, course = Course(mib, 1 << 20)](std::size_t k) { return course.at_second(k) / page * page; });
}

std::uint64_t Course::value(ScriptTime t) const { return at_second(nanoseconds(t) / kNanosecondsPerSecond); }

std::uint64_t Course::integral(ScriptTime t) const {
  const std::uint64_t ns = nanoseconds(t);
  const std::uint64_t second = ns / kNanosecondsPerSecond;
  return second / kPeriod * sums_[kPeriod] + sums_[second % kPeriod] +
         part_of_second(at_second(second), ns % kNanosecondsPerSecond);
}

std::uint64_t Course::maximum() const {
  std::uint64_t most = 0;
  for (std::size_t k = 0; k < kPeriod; ++k) most = std::max(most, at_second(k));
  return most;
}

Course& Course::operator+=(const Course& other) {
  for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k] += other.sums_[k];
  return *this;
}

std::uint64_t Lifetime::predecessors(ScriptTime t) const {
  return recurs() && t >= begin_ ? static_cast<std::uint64_t>((t - begin_) / kPeriod) : 0;
}

std::uint64_t Lifetime::ended(ScriptTime t) const {
  const ScriptTime first_end = begin_ + length_;
  return recurs() && t >= first_end ? static_cast<std::uint64_t>((t - first_end) / kPeriod) + 1 : 0;
}

Lifetime Lifetime::within(ScriptTime after_begin, ScriptTime before_end) const {
  if (!recurs()) return Lifetime(begin_ + after_begin);
  return {begin_ + after_begin, length_ - after_begin - before_end};
}

Course Lifetime::limit(const Course& course) const {
  if (!recurs()) return course;
  return Course::from([&](std::size_t k) {
    // A later period: the course also covers times before the first begin.
    const ScriptTime t = begin_ / kPeriod * kPeriod + kPeriod + std::chrono::seconds(k);
    return exists(t) ? course.at_second(k) : 0;
  });
}

}  // namespace igpu::simulation
