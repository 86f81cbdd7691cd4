// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/gain_bound.h"
#include "igpu/units.h"

namespace igpu {

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
  // no window may end there: what follows is measured from the reading before it. If the source grows from the level
  // that was held without reaching its old one, it restarted there after all, and nothing is added for the gap.
  Advance advance_bounded(std::uint64_t raw, std::uint64_t range, const GainBound& bound, Nanoseconds begin,
                          Nanoseconds end) {
    Advance step = Advance::gained;
    if (seen_) {
      // A source may publish rarely: measure the time from when this value was first seen.
      step = judge(last_, raw, range, bound.most(end - unchanged_since_));
      if (step == Advance::held && raw > restarted_above_.value_or(raw)) step = Advance::reset;
    }
    restarted_above_.reset();
    if (step == Advance::held) {
      restarted_above_ = raw;
      return step;
    }
    if (step == Advance::lapped) offset_ += range;
    if (step == Advance::reset) {
      restarted_above_ = 0;    // nothing has confirmed the new level yet
      offset_ += last_ - raw;  // modulo 2^64; total_ stays where it was
    }
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
  }
  // Adds time known from another source.
  void add(std::uint64_t amount) {
    total_ += amount;
    offset_ += amount;
  }

  std::uint64_t total() const { return total_; }

 private:
  std::uint64_t last_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t total_ = 0;
  Nanoseconds unchanged_since_{};                 // advance_bounded()
  std::optional<std::uint64_t> restarted_above_;  // a lower reading above this is no dip; after one, and after a reset
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
