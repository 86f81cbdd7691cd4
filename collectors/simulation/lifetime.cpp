// SPDX-License-Identifier: Apache-2.0
#include "simulation/lifetime.h"

namespace igpu::simulation {

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
