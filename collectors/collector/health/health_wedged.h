// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "igpu/units.h"

namespace igpu {

// Whether a GPU is wedged, from what the kernel announced and what the driver answered. Pure.
//
// An announcement counts at once. An answer counts when the next one agrees, because a driver that recovers from a PCIe
// error answers as if it had given up. Until the first answer or announcement the result is nullopt.
class WedgedVerdict {
 public:
  void announced() {
    wedged_ = true;
    agreeing_ = 0;
  }
  void answered(bool wedged) {
    agreeing_ = wedged == last_ ? agreeing_ + 1 : 1;
    last_ = wedged;
    if (agreeing_ > 1 || (!wedged_ && !wedged)) wedged_ = wedged;
  }
  // i915 began a reset of the whole GPU. It finishes within a second or declares the GPU wedged.
  void reset_began(Nanoseconds now) {
    if (!reset_since_) reset_since_ = now;
  }
  void reset_ended() { reset_since_.reset(); }
  bool reset_hangs(Nanoseconds now) const { return reset_since_ && now - *reset_since_ >= kLongestReset; }

  std::optional<bool> wedged() const { return wedged_; }
  // Whether the next answer can change the verdict.
  bool is_open() const { return last_ && *last_ != wedged_.value_or(!*last_); }

 private:
  static constexpr Nanoseconds kLongestReset = std::chrono::seconds(5);

  std::optional<bool> wedged_;
  std::optional<bool> last_;
  unsigned agreeing_ = 0;
  std::optional<Nanoseconds> reset_since_;
};

}  // namespace igpu
