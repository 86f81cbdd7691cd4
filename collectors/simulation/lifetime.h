// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "simulation/course.h"

namespace igpu::simulation {

// When something of the simulated machine exists: from a time on, or for a part of every period of the courses, each
// time as another one of its kind.
class Lifetime {
 public:
  Lifetime() = default;  // since boot
  explicit Lifetime(ScriptTime begin) : begin_(begin) {}
  // length: less than a period.
  Lifetime(ScriptTime begin, ScriptTime length) : begin_(begin), length_(length) {}

  bool recurs() const { return length_ != ScriptTime::zero(); }
  ScriptTime length() const { return length_; }
  bool exists(ScriptTime t) const { return t >= begin_ && (!recurs() || since_begin(t) < length_); }
  // When the one that exists at t began, or the last one before t.
  ScriptTime began(ScriptTime t) const { return t < begin_ || !recurs() ? begin_ : t - since_begin(t); }
  // How many began before that one.
  std::uint64_t predecessors(ScriptTime t) const;
  // How many have ended by t.
  std::uint64_t ended(ScriptTime t) const;
  // Whether what exists at one time is what exists at the other.
  bool is_same(ScriptTime a, ScriptTime b) const { return exists(a) && exists(b) && began(a) == began(b); }
  // The same, without a margin at both ends.
  Lifetime within(ScriptTime after_begin, ScriptTime before_end) const;

  // The course as it is while this exists, 0 otherwise.
  Course limit(const Course& course) const;

 private:
  static constexpr ScriptTime kPeriod = std::chrono::seconds(Course::kPeriod);
  ScriptTime since_begin(ScriptTime t) const { return (t - begin_) % kPeriod; }

  ScriptTime begin_{};
  ScriptTime length_{};  // 0: no end
};

}  // namespace igpu::simulation
