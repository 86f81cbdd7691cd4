// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "igpu/units.h"

namespace igpu {

// The most that a count can gain in a time, in its own unit: what its source can draw, or the time itself. Only this
// distinguishes a lap of a counter from a reset.
struct GainBound {
  double per_second = 0;
  double at_once = 0;  // rounding, and the steps in which a source publishes its count

  constexpr double most(Nanoseconds elapsed) const {
    return per_second * to_seconds(std::max(elapsed, Nanoseconds::zero())).value + at_once;
  }
};

enum class Advance {
  gained,
  lapped,  // it gained and wrapped around
  reset,   // it restarted elsewhere: the gain is unknown
  held,    // lower, but not from a restart: a dip, unless it stays
};

// How a count changed between two readings. range: where it wraps; 0: never. most: its maximum gain. A step forward is
// accepted up to twice that, because it is the source's own count; a wraparound is only inferred. A restart begins at
// zero: it has gained no more than `most` since then, and is below half of what was counted before, so that a dip of a
// young count is none.
constexpr Advance judge(std::uint64_t before, std::uint64_t now, std::uint64_t range, double most) {
  if (now >= before) return static_cast<double>(now - before) <= 2 * most ? Advance::gained : Advance::reset;
  if (before <= range && static_cast<double>(range - before + now) <= most) return Advance::lapped;
  return static_cast<double>(now) <= most && now <= before / 2 ? Advance::reset : Advance::held;
}

// Turns a source that may restart, wrap or step back into a count that only grows. Starts at the source's value.
class MonotonicCounter {
 public:
  // A step back is a restart: what follows is added.
  std::uint64_t advance(std::uint64_t raw) {
    if (!seen_) {
      seen_ = true;
      if (rebase_) offset_ = total_ - raw;
      rebase_ = false;
    } else if (raw < last_) {
      offset_ += last_ - raw;  // modulo 2^64; total_ stays where it was
    }
    last_ = raw;
    total_ = raw + offset_;
    return total_;
  }

  // For a source whose gain in a time has a bound, and which may wrap at a range (0: it does not). begin and end
  // enclose the reading, on one clock. A reset adds nothing; what follows is added. A held reading changes nothing, and
  // no window may end there: what follows is measured from the reading before it, however many are held. If a source
  // that seemed to have restarted is back above its old level at once, it had not: what it gained since then counts
  // once, and the step is a reset, because no window may begin between.
  Advance advance_bounded(std::uint64_t raw, std::uint64_t range, const GainBound& bound, Nanoseconds begin,
                          Nanoseconds end) {
    Advance step = Advance::gained;
    if (seen_) {
      if (was_dip(raw, bound, end)) {
        const std::uint64_t total = std::max(total_, before_->total + (raw - before_->last));
        before_.reset();
        is_new_level_ = false;
        unchanged_since_ = begin;
        offset_ = total - raw;
        (void)advance(last_ = raw);
        return Advance::reset;
      }
      // A source may publish rarely: measure the time from when this value was first seen.
      step = judge(last_, raw, range, bound.most(end - unchanged_since_));
      if (step == Advance::held && is_new_level_) step = Advance::reset;
    }
    if (step == Advance::held) return step;
    if (step == Advance::lapped) offset_ += range;
    if (step == Advance::reset) {
      if (raw < last_ && (!before_ || last_ > before_->last)) before_ = Before{last_, total_, raw, unchanged_since_};
      if (before_) before_->first = raw;
      offset_ += last_ - raw;  // modulo 2^64; total_ stays where it was
    } else if (before_ && (step == Advance::lapped || raw >= before_->last)) {
      before_.reset();
    }
    is_new_level_ = step == Advance::reset || (is_new_level_ && raw == last_);
    if (!seen_ || raw != last_) unchanged_since_ = begin;
    if (step != Advance::gained) last_ = raw;  // accepted: no longer a step back
    (void)advance(raw);
    return step;
  }

  // The source was reopened: the next value is a new starting point; nothing is added for the gap.
  void rebase() {
    if (!seen_) return;
    seen_ = false;
    rebase_ = true;
    is_new_level_ = false;
    before_.reset();
  }
  // Adds time known from another source.
  void add(std::uint64_t amount) {
    total_ += amount;
    offset_ += amount;
  }

  std::uint64_t total() const { return total_; }

 private:
  struct Before {
    std::uint64_t last, total;  // before the reset
    std::uint64_t first;        // after it
    Nanoseconds since;          // last was read first
  };

  // Whether the source jumped from where it seemed to have restarted to where it would be if it had not: soon, or
  // faster than it can, and by more than all it gained there, so that one which grows past its old level is none.
  bool was_dip(std::uint64_t raw, const GainBound& bound, Nanoseconds end) const {
    if (!before_ || raw < before_->last || raw < last_ || raw - last_ <= last_ - before_->first) return false;
    const Nanoseconds time = end - unchanged_since_;
    return (time <= std::chrono::minutes(10) || static_cast<double>(raw - last_) > bound.most(time)) &&
           static_cast<double>(raw - before_->last) <= 2 * bound.most(end - before_->since);
  }

  std::uint64_t last_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t total_ = 0;
  Nanoseconds unchanged_since_{};  // advance_bounded()
  std::optional<Before> before_;   // the last reset, until its old level is reached
  bool is_new_level_ = false;      // nothing has confirmed the level since the last reset: a lower one is no dip
  bool seen_ = false;
  bool rebase_ = false;
};

// Counters of one device that outlive its collectors: they continue when a GPU is unbound and bound again.
// References stay valid. Used by one thread at a time.
class CounterMemory {
 public:
  MonotonicCounter& counter(std::string_view key) {
    auto it = counters_.find(key);
    if (it == counters_.end()) it = counters_.emplace(std::string(key), MonotonicCounter{}).first;
    return it->second;
  }

  // State of the owner's own type that outlives it, too; created at the first call. Always the same type.
  template <class T>
  T& own() {
    if (!own_) own_ = std::make_shared<T>();
    return *static_cast<T*>(own_.get());
  }

 private:
  std::map<std::string, MonotonicCounter, std::less<>> counters_;
  std::shared_ptr<void> own_;
};

}  // namespace igpu
